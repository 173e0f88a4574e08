/** Hot path: twice per request. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type RequestId, type RequestState, requestId, type ServingError } from "@baton/protocol";
import type { Random } from "@baton/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { PlainReply } from "./answers.ts";
import { type ErrorAnswer, errorAnswer } from "./error-body.ts";
import type { RequestFrame } from "./parse-body.ts";
import { clientRequestId, traceparent } from "./request-ids.ts";

/** The type of every answer that is neither a stream nor a page. */
export const jsonType = "application/json; charset=utf-8";

/** What all answers of the API have in common: the request's id, and the form of errors. */
export class Replies {
  readonly #random: Random;
  readonly #overloadStatus: number;
  readonly #ids = new WeakMap<IncomingMessage, RequestId>();

  /** `overloadStatus`: status of `overloaded`. */
  constructor(random: Random, overloadStatus: number) {
    this.#random = random;
    this.#overloadStatus = overloadStatus;
  }

  /** Our own id of a request, drawn when first asked for. */
  idOf(request: IncomingMessage): RequestId {
    const known = this.#ids.get(request);
    if (known !== undefined) return known;
    const id = requestId(this.#random.id("req"));
    this.#ids.set(request, id);
    return id;
  }

  /** The header that every answer has: the client's own id if it sent one. */
  idHeader(request: IncomingMessage): Readonly<Record<string, string>> {
    return {
      "x-request-id": clientRequestId(request.headers["x-request-id"]) ?? this.idOf(request),
    };
  }

  /** What a request says of itself beside its body. */
  frameOf(request: IncomingMessage): RequestFrame {
    return {
      requestId: this.idOf(request),
      clientRequestId: clientRequestId(request.headers["x-request-id"]),
      traceparent: traceparent(request.headers.traceparent),
    };
  }

  errorAnswer(request: IncomingMessage, error: ServingError, stage: RequestState): ErrorAnswer {
    const overloadStatus = this.#overloadStatus;
    return errorAnswer(error, { requestId: this.idOf(request), stage, overloadStatus });
  }

  /** Answers through the framework. */
  sendJson(request: FastifyRequest, reply: FastifyReply, body: string, status = 200): void {
    void reply.code(status).headers(this.idHeader(request.raw)).type(jsonType).send(body);
  }

  /** Answers a request that was taken from the framework, unless its client has left. */
  writeWhole(
    request: IncomingMessage,
    response: ServerResponse,
    { status, headers, body }: ErrorAnswer,
  ): void {
    if (response.destroyed || response.headersSent) return;
    response.writeHead(status, {
      ...headers,
      ...this.idHeader(request),
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  }

  /** The ways in which a request that was taken from the framework may be answered in one piece. */
  plainReply(request: IncomingMessage, response: ServerResponse): PlainReply {
    return {
      sendJson: (body) =>
        this.writeWhole(request, response, {
          status: 200,
          headers: { "content-type": jsonType },
          body,
        }),
      sendError: (error, stage) =>
        this.writeWhole(request, response, this.errorAnswer(request, error, stage)),
    };
  }
}
