import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, ServingError } from "@baton/protocol";
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
import type { BodyLimits } from "./body-limits.ts";
import { errorAnswer, refusal } from "./error-body.ts";
import { BodyParser } from "./parse-body.ts";
import { parseJson } from "./parse-json.ts";
import { Replies } from "./replies.ts";
import { AllowedMethods, type ApiRoute } from "./routes/api-route.ts";
import { generationRoutes } from "./routes/generation-routes.ts";
import { modelRoutes } from "./routes/model-routes.ts";
import { type MetricsPage, statusRoutes } from "./routes/status-routes.ts";

/** Bounds and addresses of the API. */
export interface ApiServerOptions extends BodyLimits {
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

/** The OpenAI API over HTTP. It checks form; whatever a request means is the request port's. */
export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #deps: ApiServerDeps;
  readonly #app: FastifyInstance;
  /** Requests whose bodies are still to come. */
  readonly #receiving = new Set<IncomingMessage>();
  readonly #replies: Replies;
  readonly #allowed: AllowedMethods;
  #url: string | null = null;

  constructor(options: ApiServerOptions, deps: ApiServerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#replies = new Replies(deps.random, options.overloadStatus);
    const routes = this.#routes();
    this.#allowed = new AllowedMethods(routes);
    this.#app = fastify({
      logger: false,
      bodyLimit: options.maxBodyBytes,
      requestTimeout: options.receiveTimeoutMs,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: 2_000 },
      clientErrorHandler: (error, socket) => this.#clientError(error, socket),
      frameworkErrors: (error, request, reply) => this.#answerError(request, reply, error),
    });
    this.#register(routes);
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

  #routes(): readonly ApiRoute[] {
    const replies = this.#replies;
    const { directory } = this.#deps;
    const bodies = new BodyParser(this.#options, () => onlyModel(directory));
    return [
      ...generationRoutes({ ...this.#deps, ...this.#options, replies, bodies, port: this.#deps.port }),
      ...modelRoutes(directory, replies),
      ...statusRoutes({ ...this.#deps, replies }),
    ];
  }

  #register(routes: readonly ApiRoute[]): void {
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
    for (const { method, path, handle } of routes) {
      if (method === "GET") app.get(path, handle);
      else {
        app.post(path, { onRequest }, (request, reply) => {
          this.#receiving.delete(request.raw);
          return handle(request, reply);
        });
      }
    }
  }

  /** Bodies are bounded in number as they are in size: what arrives slowly is held as long. */
  #beginsToArrive(request: IncomingMessage): void {
    if (this.#receiving.size >= this.#options.maxInFlight) {
      throw refusal("overloaded", "too many requests are arriving at once");
    }
    this.#receiving.add(request);
    request.once("close", () => this.#receiving.delete(request));
  }

  #notFound(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split("?", 1)[0] ?? "";
    const methods = this.#allowed.of(path);
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
    const { status, headers, body } = this.#replies.errorAnswer(request.raw, error, "received");
    void reply
      .code(status)
      .headers(headers)
      .headers(this.#replies.idHeader(request.raw))
      .send(body);
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

/** The model that a body means which names none. */
function onlyModel(directory: ModelDirectory): string | null {
  const [only, ...others] = directory.all();
  return only === undefined || others.length > 0 ? null : only.name;
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
