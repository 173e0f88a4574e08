/** Hot path: once per request. */
import type { Clock, Counter } from "@baton/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestPort } from "../../relay/request-port.ts";
import type { RequestHandle, RequestSink } from "../../request/request-sink.ts";
import type { AnswerFrame } from "../answer-json.ts";
import { StreamedAnswer, WholeAnswer } from "../answers.ts";
import { OpenAnswers } from "../open-answers.ts";
import { type Endpoint, type ParsedBody, parseBody } from "../parse-body.ts";
import type { Replies } from "../replies.ts";
import { routeAnswer } from "../route-json.ts";
import { StreamWriter } from "../stream-writer.ts";
import type { ApiRoute } from "./api-route.ts";

/** What the routes that generate stand on. */
export interface GenerationRoutesDeps {
  readonly port: RequestPort;
  readonly clock: Clock;
  readonly clientsCut: Counter;
  readonly replies: Replies;
  /** Status of `overloaded`. */
  readonly overloadStatus: number;
  /** Most bytes that wait for one client of a stream. */
  readonly clientBufferBytes: number;
}

const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};

/** The paths of the API that generate, and what they generate. */
export const generationPaths: Readonly<Record<string, Endpoint>> = {
  "/v1/chat/completions": "chat",
  "/v1/completions": "completions",
};

/** The routes that generate. They check form; whatever a request means is the request port's. */
export function generationRoutes(deps: GenerationRoutesDeps): readonly ApiRoute[] {
  const generation = new Generation(deps);
  return Object.entries(generationPaths).map(([path, endpoint]) => ({
    method: "POST",
    path,
    handle: (request, reply) => generation.generate(endpoint, request, reply),
  }));
}

class Generation {
  readonly #deps: GenerationRoutesDeps;
  readonly #open = new OpenAnswers();

  constructor(deps: GenerationRoutesDeps) {
    this.#deps = deps;
  }

  generate(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): void {
    const frame = this.#deps.replies.frameOf(request.raw);
    const parsed = parseBody(endpoint, request.body, frame, request.raw.headers);
    reply.hijack();
    if (parsed.query === null) this.#serve(endpoint, parsed, request, reply);
    else void this.#explain(parsed.request, parsed.query, request, reply);
  }

  /** Says where the request would go. Whatever fails is part of the answer. */
  async #explain(
    asked: ParsedBody["request"],
    form: "baton" | "nvext",
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { overloadStatus, port, replies } = this.#deps;
    const explanation = await port.explain(asked);
    const frame = { requestId: asked.requestId, overloadStatus, form };
    replies.writeWhole(request.raw, reply.raw, routeAnswer(explanation, frame));
  }

  #serve(
    endpoint: Endpoint,
    parsed: ParsedBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const { clientBufferBytes, clientsCut, clock, port, replies } = this.#deps;
    const answer: AnswerFrame = {
      endpoint,
      requestId: parsed.request.requestId,
      model: parsed.request.model,
      created: Math.floor(clock.nowMs() / 1000),
      wish: parsed.wish,
    };
    const raw = reply.raw;
    let handle: RequestHandle | null = null;
    const plain = replies.plainReply(request.raw, raw);
    const sink: RequestSink = parsed.wish.stream
      ? new StreamedAnswer(answer, {
          reply: plain,
          headers: { ...eventStreamHeaders, ...replies.idHeader(request.raw) },
          writer: new StreamWriter(raw, clientBufferBytes, {
            onCut: () => {
              clientsCut.add();
              handle?.cancel();
            },
          }),
        })
      : new WholeAnswer(answer, parsed.request.output.n, plain);
    const submitted = port.submit(parsed.request, sink);
    handle = submitted;
    const { socket } = request.raw;
    this.#open.add(socket, submitted);
    // Also comes when the answer is complete, and then cancels nothing.
    raw.once("close", () => {
      this.#open.remove(socket, submitted);
      submitted.cancel();
    });
    if (raw.destroyed || socket.destroyed) submitted.cancel();
  }
}
