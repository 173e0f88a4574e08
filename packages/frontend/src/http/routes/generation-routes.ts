/** Hot path: once per request. */
import type { Clock, Counter } from "@baton/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestPort } from "../../relay/request-port.ts";
import type { RequestHandle } from "../../request/request-sink.ts";
import type { AnswerFrame } from "../answer-json.ts";
import { type AnswerSink, StreamedAnswer, WholeAnswer } from "../answers.ts";
import { inWordsOf, sinkInWordsOf } from "../field-words.ts";
import { OpenAnswers } from "../open-answers.ts";
import {
  chatAnswer,
  chatChunk,
  completionAnswer,
  completionChunk,
  generateAnswer,
  generateChunk,
} from "../openapi/answer-schemas.ts";
import type { BodyParser, Endpoint, ParsedBody } from "../parse-body.ts";
import type { Replies } from "../replies.ts";
import { routeAnswer } from "../route-json.ts";
import { StreamWriter } from "../stream-writer.ts";
import { submitPrompts, withoutOutput } from "../submit-prompts.ts";
import { type ApiRoute, generationErrors, type RouteDoc } from "./api-route.ts";

/** What the routes that generate stand on. */
export interface GenerationRoutesDeps {
  readonly port: RequestPort;
  readonly bodies: BodyParser;
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
  // Compressing would hold events back until there are enough of them.
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** The routes that generate. They check form; whatever a request means is the request port's. */
export function generationRoutes(deps: GenerationRoutesDeps): readonly ApiRoute[] {
  const generation = new Generation(deps);
  const route = (endpoint: Endpoint, doc: Omit<RouteDoc, "body" | "errors">): ApiRoute => ({
    method: "POST",
    path: doc.path,
    docs: [{ ...doc, body: deps.bodies.schemas[endpoint], errors: generationErrors }],
    handle: (request, reply) => generation.generate(endpoint, request, reply),
  });
  return [
    route("chat", {
      path: "/v1/chat/completions",
      name: "Chat",
      summary: "The next turn of a chat.",
      answer: chatAnswer,
      chunk: chatChunk,
    }),
    route("completions", {
      path: "/v1/completions",
      name: "Completion",
      summary: "What follows a text, or each of several.",
      description: "Each prompt is a request of its own; if one fails, all do.",
      answer: completionAnswer,
      chunk: completionChunk,
    }),
    route("generate", {
      path: "/inference/v1/generate",
      name: "Generate",
      summary: "The token ids that follow token ids.",
      description: "`model` may be left out where one model is served.",
      answer: generateAnswer,
      chunk: generateChunk,
    }),
  ];
}

class Generation {
  readonly #deps: GenerationRoutesDeps;
  readonly #open = new OpenAnswers();

  constructor(deps: GenerationRoutesDeps) {
    this.#deps = deps;
  }

  generate(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): void {
    const { bodies, replies } = this.#deps;
    const frame = replies.frameOf(request.raw);
    const parsed = bodies.parse(endpoint, request.body, frame, request.raw.headers);
    reply.hijack();
    if (parsed.query === null) this.#serve(endpoint, parsed, request, reply);
    else void this.#explain(endpoint, parsed, request, reply);
  }

  /** Says where the request would go. Whatever fails is part of the answer. */
  async #explain(
    endpoint: Endpoint,
    { requests: [asked], query }: ParsedBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { overloadStatus, port, replies } = this.#deps;
    const { failure, ...explanation } = await port.explain(asked);
    const told = failure && { ...failure, error: inWordsOf(endpoint, failure.error) };
    const frame = { requestId: asked.requestId, overloadStatus, form: query ?? "baton" };
    const answer = routeAnswer({ ...explanation, failure: told }, frame);
    replies.writeWhole(request.raw, reply.raw, answer);
  }

  #serve(
    endpoint: Endpoint,
    parsed: ParsedBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const { requests, wish } = parsed;
    const raw = reply.raw;
    let handle: RequestHandle | null = null;
    const answer = this.#answer(endpoint, parsed, request, reply, () => handle?.cancel());
    const sink = sinkInWordsOf(endpoint, wish.echoOnly ? withoutOutput(answer) : answer);
    const submitted = submitPrompts(this.#deps.port, requests, sink);
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

  #answer(
    endpoint: Endpoint,
    { requests, wish }: ParsedBody,
    request: FastifyRequest,
    reply: FastifyReply,
    cancel: () => void,
  ): AnswerSink {
    const { clientBufferBytes, clientsCut, clock, replies } = this.#deps;
    const [{ clientRequestId, model, output, requestId }] = requests;
    const frame: AnswerFrame = {
      endpoint,
      requestId,
      clientRequestId,
      model,
      created: Math.floor(clock.nowMs() / 1000),
      choicesPerPrompt: output.n,
      wish,
    };
    const plain = replies.plainReply(request.raw, reply.raw);
    if (!wish.stream) return new WholeAnswer(frame, requests.length * output.n, plain);
    return new StreamedAnswer(frame, {
      reply: plain,
      headers: { ...eventStreamHeaders, ...replies.idHeader(request.raw) },
      writer: new StreamWriter(reply.raw, clientBufferBytes, {
        onCut: () => {
          clientsCut.add();
          cancel();
        },
      }),
    });
  }
}
