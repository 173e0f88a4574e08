/** Hot path: `#generate` once per request. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import {
  type ErrorCode,
  type RequestId,
  type RequestState,
  requestId,
  ServingError,
} from "@baton/protocol";
import type { Clock, Counter, Random } from "@baton/runtime";
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import type { Logger } from "pino";
import type { ModelDirectory } from "../relay/model-directory.ts";
import type { RequestPort } from "../relay/request-port.ts";
import type { RequestHandle, RequestSink } from "../request/request-sink.ts";
import type { AnswerFrame } from "./answer-json.ts";
import { type PlainReply, StreamedAnswer, WholeAnswer } from "./answers.ts";
import { errorAnswer, refusal } from "./error-body.ts";
import { modelEntry, modelList } from "./model-list.ts";
import { OpenAnswers } from "./open-answers.ts";
import { type Endpoint, type ParsedBody, parseBody, type RequestFrame } from "./parse-body.ts";
import { parseJson } from "./parse-json.ts";
import { clientRequestId, traceparent } from "./request-ids.ts";
import { routeAnswer } from "./route-json.ts";
import { StreamWriter } from "./stream-writer.ts";

/** Bounds and addresses of the API. */
export interface ApiServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** Most bytes that wait for one client of a stream. */
  readonly clientBufferBytes: number;
  /** Status of `overloaded`. */
  readonly overloadStatus: number;
  /** How long a request may take to arrive, ms. */
  readonly receiveTimeoutMs: number;
  /** Most requests at once whose bodies are still to come; more are refused before they are read. */
  readonly maxInFlight: number;
}

/** Text of all figures of the process, for `/metrics`. */
export interface MetricsPage {
  text(): Promise<string>;
  readonly contentType: string;
}

/** What the API stands on. */
export interface ApiServerDeps {
  readonly port: RequestPort;
  readonly directory: ModelDirectory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly requests: Counter;
  readonly clientsCut: Counter;
  /** Null where the host gives none. */
  readonly metricsPage: MetricsPage | null;
  /** The state of the actor: `null` while it takes requests, else why it does not. */
  whyNotServing(): string | null;
}

const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};
const jsonType = "application/json; charset=utf-8";

/** The paths and what they take, for those who come with another method. */
const methodsOf: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "POST",
  "/v1/completions": "POST",
  "/v1/models": "GET, HEAD",
  "/health": "GET, HEAD",
  "/live": "GET, HEAD",
  "/metrics": "GET, HEAD",
};

/** The OpenAI API over HTTP. It checks form; whatever a request means is the request port's. */
export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #deps: ApiServerDeps;
  readonly #app: FastifyInstance;
  /** Requests whose bodies are still to come. */
  readonly #receiving = new Set<IncomingMessage>();
  readonly #open = new OpenAnswers();
  readonly #ids = new WeakMap<IncomingMessage, RequestId>();
  #url: string | null = null;

  constructor(options: ApiServerOptions, deps: ApiServerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#app = fastify({
      logger: false,
      bodyLimit: options.maxBodyBytes,
      requestTimeout: options.receiveTimeoutMs,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: 2_000 },
      clientErrorHandler: (error, socket) => this.#clientError(error, socket),
      frameworkErrors: (error, request, reply) => this.#answerError(request, reply, error),
    });
    this.#routes();
  }

  /** Where the API is, once it listens. */
  get url(): string | null {
    return this.#url;
  }

  /** Begins to listen. Rejects with `config_invalid` if the address cannot be had. */
  async start(): Promise<string> {
    const { host, port } = this.#options;
    try {
      this.#url = await this.#app.listen({ host, port });
      return this.#url;
    } catch (error) {
      const problem = `cannot listen on ${host}:${port}: ${ServingError.from(error).message}`;
      throw new ServingError("config_invalid", { problem }, { cause: error });
    }
  }

  /** Closes everything at once. */
  async stop(): Promise<void> {
    await this.#app.close();
  }

  #routes(): void {
    const app = this.#app;
    app.removeAllContentTypeParsers();
    app.addContentTypeParser<string>(
      "application/json",
      { parseAs: "string" },
      (_request, body, done) => readJson(body, done),
    );
    app.setErrorHandler((error: FastifyError, request, reply) =>
      this.#answerError(request, reply, error),
    );
    app.setNotFoundHandler((request, reply) => this.#notFound(request, reply));
    const onRequest = async ({ raw }: FastifyRequest): Promise<void> => this.#beginsToArrive(raw);
    app.post("/v1/chat/completions", { onRequest }, (request, reply) =>
      this.#generate("chat", request, reply),
    );
    app.post("/v1/completions", { onRequest }, (request, reply) =>
      this.#generate("completions", request, reply),
    );
    app.get("/v1/models", (request, reply) =>
      this.#sendJson(request, reply, modelList(this.#deps.directory)),
    );
    app.get<{ Params: { "*": string } }>("/v1/models/*", (request, reply) =>
      this.#sendJson(request, reply, modelEntry(this.#deps.directory, request.params["*"])),
    );
    app.get("/live", (request, reply) => this.#sendJson(request, reply, '{"status":"live"}'));
    app.get("/health", (request, reply) => this.#health(request, reply));
    app.get("/metrics", (request, reply) => this.#metrics(request, reply));
  }

  /** Bodies are bounded in number as they are in size: what arrives slowly is held as long. */
  #beginsToArrive(request: IncomingMessage): void {
    if (this.#receiving.size >= this.#options.maxInFlight) {
      throw refusal("overloaded", "too many requests are arriving at once");
    }
    this.#receiving.add(request);
    request.once("close", () => this.#receiving.delete(request));
  }

  #generate(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): void {
    this.#receiving.delete(request.raw);
    const frame = this.#frameOf(request);
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
    const explanation = await this.#deps.port.explain(asked);
    const { overloadStatus } = this.#options;
    const frame = { requestId: asked.requestId, overloadStatus, form };
    const { status, headers, body } = routeAnswer(explanation, frame);
    this.#writeWhole(request.raw, reply.raw, status, headers, body);
  }

  #serve(
    endpoint: Endpoint,
    parsed: ParsedBody,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const answer: AnswerFrame = {
      endpoint,
      requestId: parsed.request.requestId,
      model: parsed.request.model,
      created: Math.floor(this.#deps.clock.nowMs() / 1000),
      wish: parsed.wish,
    };
    const raw = reply.raw;
    let handle: RequestHandle | null = null;
    const plain = this.#plainReply(request.raw, raw);
    const sink: RequestSink = parsed.wish.stream
      ? new StreamedAnswer(answer, {
          reply: plain,
          headers: { ...eventStreamHeaders, ...this.#idHeader(request.raw) },
          writer: new StreamWriter(raw, this.#options.clientBufferBytes, {
            onCut: () => {
              this.#deps.clientsCut.add();
              handle?.cancel();
            },
          }),
        })
      : new WholeAnswer(answer, parsed.request.output.n, plain);
    const submitted = this.#deps.port.submit(parsed.request, sink);
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

  #plainReply(request: IncomingMessage, raw: ServerResponse): PlainReply {
    return {
      sendJson: (body) => this.#writeWhole(request, raw, 200, { "content-type": jsonType }, body),
      sendError: (error, stage) => {
        const { status, headers, body } = this.#errorAnswer(request, error, stage);
        this.#writeWhole(request, raw, status, headers, body);
      },
    };
  }

  #writeWhole(
    request: IncomingMessage,
    raw: ServerResponse,
    status: number,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): void {
    if (raw.destroyed || raw.headersSent) return;
    raw.writeHead(status, {
      ...headers,
      ...this.#idHeader(request),
      "content-length": Buffer.byteLength(body),
    });
    raw.end(body);
  }

  #health(request: FastifyRequest, reply: FastifyReply): void {
    const why = this.#deps.whyNotServing();
    const models = this.#deps.directory.all().map(({ name, mode, why: reason }) => ({
      id: name,
      ready: mode !== null,
      mode,
      why: reason,
    }));
    const body = JSON.stringify({ status: why === null ? "healthy" : "not_ready", why, models });
    this.#sendJson(request, reply, body, why === null ? 200 : 503);
  }

  async #metrics(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const page = this.#deps.metricsPage;
    if (page === null) throw refusal("route_not_found", "metrics are on the admin port");
    const text = await page.text();
    await reply.headers(this.#idHeader(request.raw)).type(page.contentType).send(text);
  }

  #notFound(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split("?", 1)[0] ?? "";
    const methods = path.startsWith("/v1/models/") ? "GET, HEAD" : methodsOf[path];
    if (methods === undefined) {
      const problem = `there is no ${request.method} ${path.slice(0, 200)}`;
      this.#sendError(request, reply, refusal("route_not_found", problem));
      return;
    }
    reply.header("allow", methods);
    const problem = `${path} takes ${methods}, not ${request.method}`;
    this.#sendError(request, reply, refusal("method_not_allowed", problem));
  }

  #answerError(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
    const failure = asServingError(error, this.#options.maxBodyBytes);
    if (failure.code === "internal") this.#deps.log.error({ err: error }, "request broke");
    this.#sendError(request, reply, failure);
  }

  #sendError(request: FastifyRequest, reply: FastifyReply, error: ServingError): void {
    this.#count(error.code);
    const { status, headers, body } = this.#errorAnswer(request.raw, error, "received");
    void reply.code(status).headers(headers).headers(this.#idHeader(request.raw)).send(body);
  }

  #sendJson(request: FastifyRequest, reply: FastifyReply, body: string, status = 200): void {
    void reply.code(status).headers(this.#idHeader(request.raw)).type(jsonType).send(body);
  }

  #errorAnswer(request: IncomingMessage, error: ServingError, stage: RequestState) {
    return errorAnswer(error, {
      requestId: this.#idOf(request),
      stage,
      overloadStatus: this.#options.overloadStatus,
    });
  }

  #frameOf({ raw }: FastifyRequest): RequestFrame {
    return {
      requestId: this.#idOf(raw),
      clientRequestId: clientRequestId(raw.headers["x-request-id"]),
      traceparent: traceparent(raw.headers.traceparent),
    };
  }

  /** Our own id of a request, drawn when first asked for. */
  #idOf(request: IncomingMessage): RequestId {
    const known = this.#ids.get(request);
    if (known !== undefined) return known;
    const id = requestId(this.#deps.random.id("req"));
    this.#ids.set(request, id);
    return id;
  }

  #idHeader(request: IncomingMessage): Readonly<Record<string, string>> {
    return {
      "x-request-id": clientRequestId(request.headers["x-request-id"]) ?? this.#idOf(request),
    };
  }

  /** What Node's own parser refuses never becomes a request. */
  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable || socket.destroyed) {
      socket.destroy();
      return;
    }
    const failure = parserError(error);
    this.#count(failure.code);
    const id = this.#deps.random.id("req");
    const { status, headers, body } = errorAnswer(failure, {
      requestId: id,
      stage: "received",
      overloadStatus: this.#options.overloadStatus,
    });
    const lines = Object.entries({
      ...headers,
      "x-request-id": id,
      "content-length": String(Buffer.byteLength(body)),
      connection: "close",
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${failure.code}\r\n${lines.join("")}\r\n${body}`);
  }

  #count(code: ErrorCode): void {
    this.#deps.requests.add(1, { outcome: "failed", stage: "received", code });
  }
}

function readJson(body: string, done: (error: Error | null, value?: unknown) => void): void {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch (error) {
    done(ServingError.from(error));
    return;
  }
  done(null, value);
}

/** What the framework refuses, in our own words. */
function asServingError(error: unknown, maxBodyBytes: number): ServingError {
  if (error instanceof ServingError) return error;
  const { code, statusCode } = error as Partial<FastifyError>;
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return refusal("payload_too_large", `the body is over ${maxBodyBytes} bytes`);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return refusal("unsupported_media_type", "content-type must be application/json");
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
      return refusal("invalid_request", "the body is empty; it must be a JSON object");
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return refusal("invalid_request", "content-length is not the length of the body");
    case "FST_ERR_BAD_URL":
      return refusal("invalid_request", "the path is not well-formed");
    default:
      break;
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return refusal("invalid_request", ServingError.from(error).message);
  }
  return ServingError.from(error);
}

function parserError({ code }: NodeJS.ErrnoException): ServingError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return refusal("headers_too_large", "the request's head is over 16 KiB");
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return refusal("request_timeout", "the request did not arrive in time");
  }
  return refusal("invalid_request", "this is not an HTTP request");
}
