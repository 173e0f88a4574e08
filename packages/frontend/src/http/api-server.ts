import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type ErrorCode, ServingError } from "@baton/protocol";
import { type Clock, type Counter, listenProblem, type Random } from "@baton/runtime";
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from "fastify";
import type { Logger } from "pino";
import type { ModelDirectory, ServedModel } from "../relay/model-directory.ts";
import type { RequestPort } from "../relay/request-port.ts";
import type { TokenizePort } from "../relay/tokenize-port.ts";
import type { BodyLimits } from "./body-limits.ts";
import { BodyReceiver, type BodyReceiverLimits } from "./body-receiver.ts";
import { Connections, type Exchange } from "./connections.ts";
import { Cors } from "./cors.ts";
import { refusal } from "./error-body.ts";
import { type HttpLimits, HttpServer } from "./http-server.ts";
import { BodyParser } from "./parse-body.ts";
import { Replies } from "./replies.ts";
import { AllowedMethods, type ApiRoute } from "./routes/api-route.ts";
import { documentRoutes } from "./routes/document-routes.ts";
import { generationRoutes } from "./routes/generation-routes.ts";
import { modelRoutes } from "./routes/model-routes.ts";
import { type MetricsPage, statusRoutes } from "./routes/status-routes.ts";
import { tokenizeRoutes } from "./routes/tokenize-routes.ts";

/** Bounds and addresses of the API. */
export interface ApiServerOptions extends BodyLimits, BodyReceiverLimits, HttpLimits {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Most bytes that wait for one client of a stream. */
  readonly clientBufferBytes: number;
  /** How long a client may take to read what was written to it, ms. */
  readonly sendTimeoutMs: number;
  /** Status of `overloaded`. */
  readonly overloadStatus: number;
  /** Origins whose pages may read answers; `*` is all. */
  readonly corsOrigins: readonly string[];
}

/** What the API stands on. */
export interface ApiServerDeps {
  readonly port: RequestPort;
  readonly tokenizer: TokenizePort;
  readonly directory: ModelDirectory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly requests: Counter;
  readonly clientsCut: Counter;
  readonly connectionsRefused: Counter;
  /** Why a request of a model would not be served now; null if it would. */
  whyUnready(model: ServedModel): ServingError | null;
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
  readonly #connections: Connections;
  readonly #http: HttpServer;
  readonly #receiver: BodyReceiver;
  readonly #replies: Replies;
  readonly #allowed: AllowedMethods;
  #url: string | null = null;

  constructor(options: ApiServerOptions, deps: ApiServerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#connections = new Connections(options.sendTimeoutMs, {
      cutOff: () => this.#count("cancelled", "client_gone"),
      stalled: () => deps.clientsCut.add(),
    });
    this.#receiver = new BodyReceiver(options);
    let take: RequestListener = () => undefined;
    this.#http = this.#server((request, response) => take(request, response));
    this.#replies = new Replies(deps.random, options, {
      cors: new Cors(options.corsOrigins),
      onUnread: (request) => this.#http.linger(this.#connections.of(request.socket)),
    });
    const routes = this.#routes();
    this.#allowed = new AllowedMethods(routes);
    this.#app = fastify({
      logger: false,
      forceCloseConnections: true,
      return503OnClosing: false,
      routerOptions: { maxParamLength: 2_000 },
      serverFactory: (handle) => {
        take = handle;
        return this.#http.server;
      },
      // The server has seen to it before.
      clientErrorHandler: () => undefined,
      frameworkErrors: (error, request, reply) => this.#refuse(request.raw, reply.raw, error),
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
      this.#http.start();
      return this.#url;
    } catch (error) {
      const problem = listenProblem(`${host}:${port}`, error);
      throw new ServingError("config_invalid", { problem }, { cause: error });
    }
  }

  /** Closes everything at once. */
  async stop(): Promise<void> {
    this.#http.stop();
    await this.#app.close();
  }

  #server(take: RequestListener): HttpServer {
    const deps = { clock: this.#deps.clock, connections: this.#connections };
    const events = {
      refuse: ({ request, response }: Exchange, error: ServingError) =>
        this.#refuse(request, response, error, { connection: "close" }),
      refusalText: (error: ServingError) => {
        this.#count("failed", error.code);
        return this.#replies.refusalText(error);
      },
      dropped: () => this.#deps.connectionsRefused.add(),
    };
    return new HttpServer(this.#options, deps, events, take);
  }

  #routes(): readonly ApiRoute[] {
    const replies = this.#replies;
    const { directory } = this.#deps;
    const bodies = new BodyParser(this.#options, () => onlyModel(directory));
    const routes: readonly ApiRoute[] = [
      ...documentRoutes(() => routes, replies),
      ...generationRoutes({
        ...this.#deps,
        ...this.#options,
        replies,
        bodies,
        port: this.#deps.port,
      }),
      ...modelRoutes({ ...this.#deps, replies }),
      ...tokenizeRoutes({ ...this.#deps, onlyModel: () => onlyModel(directory), replies }),
      ...statusRoutes({ ...this.#deps, replies }),
    ];
    return routes;
  }

  /** The framework finds the route. All else is done here: its own way to a body and an answer costs 10 µs more. */
  #register(routes: readonly ApiRoute[]): void {
    const app = this.#app;
    app.addHook("onRequest", (request, reply, done) => {
      if (request.is404) this.#notFound(request, reply);
      else done();
    });
    for (const { method, path, handle } of routes) {
      // None of the hooks goes on to what the framework would do next.
      const onRequest: onRequestHookHandler = (...[request, reply]) => {
        if (method === "GET") this.#run(handle, request, reply);
        else this.#receive(handle, request, reply);
      };
      app.route({ method, url: path, onRequest, handler: handle });
    }
  }

  #receive(handle: ApiRoute["handle"], request: FastifyRequest, reply: FastifyReply): void {
    const exchange = this.#connections.find(request.raw);
    // The connection has ended within the turn that began the request.
    if (exchange === undefined) return;
    this.#receiver.receive(exchange, {
      taken: (_, body) => {
        request.body = body;
        this.#run(handle, request, reply);
      },
      refused: (_, error) => this.#refuse(request.raw, reply.raw, error),
    });
  }

  #run(handle: ApiRoute["handle"], request: FastifyRequest, reply: FastifyReply): void {
    try {
      const pending = handle(request, reply);
      if (pending instanceof Promise) {
        pending.catch((error: unknown) => this.#refuse(request.raw, reply.raw, error));
      }
    } catch (error) {
      this.#refuse(request.raw, reply.raw, error);
    }
  }

  #notFound(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split("?", 1)[0] ?? "";
    const methods = this.#allowed.of(path);
    if (methods === undefined) {
      const problem = `there is no ${request.method} ${path.slice(0, 200)}`;
      this.#refuse(request.raw, reply.raw, refusal("route_not_found", problem));
      return;
    }
    const preflight = this.#replies.preflight(request.raw, methods);
    if (preflight !== null) {
      this.#replies.writeWhole(request.raw, reply.raw, preflight);
      return;
    }
    const problem = `${path} takes ${methods}, not ${request.method}`;
    const headers = { allow: methods };
    this.#refuse(request.raw, reply.raw, refusal("method_not_allowed", problem), headers);
  }

  /** Answers what ends before it is a request of the port's. */
  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    error: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    if (response.headersSent) return;
    const failure = asServingError(error);
    if (failure.code === "internal") this.#deps.log.error({ err: error }, "request broke");
    this.#count("failed", failure.code);
    const answer = this.#replies.errorAnswer(request, failure, "received");
    this.#replies.writeWhole(request, response, {
      ...answer,
      headers: { ...answer.headers, ...headers },
    });
  }

  #count(outcome: "failed" | "cancelled", code: ErrorCode): void {
    this.#deps.requests.add(1, { outcome, stage: "received", code });
  }
}

/** The model that a body means which names none; null among several. Throws `not_ready` while there is none. */
function onlyModel(directory: ModelDirectory): string | null {
  const [only, ...others] = directory.all();
  if (only === undefined) {
    const problem = "the body names no model, and none is here yet";
    throw new ServingError("not_ready", { problem, why: "no_workers" });
  }
  return others.length > 0 ? null : only.name;
}

/** What the framework refuses, in our own words. */
function asServingError(error: unknown): ServingError {
  const { code } = error as Partial<FastifyError>;
  if (code !== "FST_ERR_BAD_URL") return ServingError.from(error);
  return refusal("invalid_request", "the path is not well-formed");
}
