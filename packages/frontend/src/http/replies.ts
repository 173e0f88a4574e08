/** Hot path: twice per request. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { type RequestId, type RequestState, requestId, type ServingError } from "@baton/protocol";
import type { Random } from "@baton/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { PlainReply } from "./answers.ts";
import type { Cors } from "./cors.ts";
import { type ErrorAnswer, errorAnswer, retryAfterSeconds } from "./error-body.ts";
import type { RequestFrame } from "./parse-body.ts";
import { hasBody } from "./request-head.ts";
import { clientRequestId, traceparent } from "./request-ids.ts";

/** The type of every answer that is neither a stream nor a page. */
export const jsonType = "application/json; charset=utf-8";

/** What answers depend on. */
export interface RepliesDeps {
  readonly cors: Cors;
  /** A request was answered although bytes of it are still to come: its connection is to be closed in a while. */
  onUnread(request: IncomingMessage): void;
}

/** What all answers of the API have in common: the request's id, the form of errors, and how a connection goes on. */
export class Replies {
  readonly #random: Random;
  readonly #overloadStatus: number;
  readonly #deps: RepliesDeps;
  readonly #ids = new WeakMap<IncomingMessage, RequestId>();

  /** `overloadStatus`: status of `overloaded`. */
  constructor(random: Random, options: { readonly overloadStatus: number }, deps: RepliesDeps) {
    this.#random = random;
    this.#overloadStatus = options.overloadStatus;
    this.#deps = deps;
  }

  /** Our own id of a request, drawn when first asked for. */
  idOf(request: IncomingMessage): RequestId {
    const known = this.#ids.get(request);
    if (known !== undefined) return known;
    const id = requestId(this.#random.id("req"));
    this.#ids.set(request, id);
    return id;
  }

  /** The headers that every answer has: the client's own id if it sent one, and what other origins may do. */
  idHeader(request: IncomingMessage): Readonly<Record<string, string>> {
    return {
      "x-request-id": clientRequestId(request.headers["x-request-id"]) ?? this.idOf(request),
      ...this.#deps.cors.headers(request),
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

  /** The answer to a browser that asks beforehand what it may send to a path; null if the request is none of that kind. */
  preflight(request: IncomingMessage, methods: string): ErrorAnswer | null {
    const headers = this.#deps.cors.preflight(request, methods);
    return headers === null ? null : { status: 204, headers, body: "" };
  }

  /** A whole HTTP answer, for bytes that never became a request. The connection ends with it. */
  refusalText(error: ServingError): string {
    const id = this.#random.id("req");
    const overloadStatus = this.#overloadStatus;
    const answer = errorAnswer(error, { requestId: id, stage: "received", overloadStatus });
    const lines = Object.entries({
      ...answer.headers,
      "x-request-id": id,
      "content-length": String(Buffer.byteLength(answer.body)),
      connection: "close",
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    const reason = STATUS_CODES[answer.status] ?? "";
    return `HTTP/1.1 ${answer.status} ${reason}\r\n${lines.join("")}\r\n${answer.body}`;
  }

  sendJson(request: FastifyRequest, reply: FastifyReply, body: string, status = 200): void {
    const wait = status === 503 ? { "retry-after": retryAfterSeconds } : {};
    const headers = { "content-type": jsonType, ...wait };
    this.writeWhole(request.raw, reply.raw, { status, headers, body });
  }

  /** Answers in one piece, unless the client has left or has its answer. */
  writeWhole(
    request: IncomingMessage,
    response: ServerResponse,
    { status, headers, body }: ErrorAnswer,
  ): void {
    if (response.destroyed || response.headersSent) return;
    const isUnread = !request.complete && hasBody(request);
    response.writeHead(status, {
      ...headers,
      ...this.idHeader(request),
      ...(status === 204 ? {} : { "content-length": Buffer.byteLength(body) }),
      ...(isUnread ? { connection: "close" } : {}),
    });
    if (isUnread) this.#endUnread(request, response, body);
    else response.end(body);
  }

  /**
   * Ends the connection, but reads and throws away what the client is still sending: it would not get to read the answer
   * otherwise, since a socket that is closed with bytes unread resets the connection.
   */
  #endUnread(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { socket } = response;
    // Behind another answer, or without a body: then the end of the response must send the head.
    if (socket === null || body === "" || request.method === "HEAD") {
      response.end(body);
      return;
    }
    response.write(body);
    socket.end();
    request.resume();
    this.#deps.onUnread(request);
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
