import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ServingError } from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";
import type { Connection, Connections, Exchange } from "./connections.ts";
import { refusal } from "./error-body.ts";
import { frameProblem } from "./request-head.ts";

/** How long clients may take, and how many there may be. */
export interface HttpLimits {
  /** How long a request may take to arrive, ms. */
  readonly receiveTimeoutMs: number;
  /** How long its head alone may take, ms. */
  readonly headersTimeoutMs: number;
  /** How long a connection may be idle between two requests, ms. */
  readonly keepAliveMs: number;
  /** Most connections at once; further ones are closed at once. */
  readonly maxConnections: number;
}

/** What the server tells. */
export interface HttpServerEvents {
  /** The client is at fault: answers it as the last of its connection. */
  refuse(exchange: Exchange, error: ServingError): void;
  /** The text of a whole HTTP answer with this error, for a request that never became one. It is counted. */
  refusalText(error: ServingError): string;
  /** A connection was closed because there are too many. */
  dropped(): void;
}

/** Largest head of a request. */
const maxHeadBytes = 16 * 1024;
/** How long a connection that is about to be closed may still send what nobody reads. */
const lingerMs = 5_000;
const sweepMs = 1_000;

/**
 * Node's HTTP server, held to its limits. Whatever its parser or its own rules refuse gets an answer of ours, in order and
 * never into the middle of another.
 */
export class HttpServer {
  readonly server: Server;
  readonly #limits: HttpLimits;
  readonly #clock: Clock;
  readonly #connections: Connections;
  readonly #events: HttpServerEvents;
  readonly #take: RequestListener;
  #timer: Timer | null = null;

  /** `take` gets every request that is well framed. */
  constructor(
    limits: HttpLimits,
    deps: { readonly clock: Clock; readonly connections: Connections },
    events: HttpServerEvents,
    take: RequestListener,
  ) {
    this.#limits = limits;
    this.#clock = deps.clock;
    this.#connections = deps.connections;
    this.#events = events;
    this.#take = take;
    this.server = this.#create();
  }

  /** Sees to slow clients from here on. */
  start(): void {
    this.#timer ??= this.#clock.setRepeating(sweepMs, () =>
      this.#connections.sweep(this.#clock.nowMs()),
    );
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Lets a client that has its answer finish what it is sending, within bounds, so that it gets to read the answer. */
  linger(connection: Connection): void {
    connection.closeByMs = this.#clock.nowMs() + lingerMs;
  }

  #create(): Server {
    const { headersTimeoutMs, keepAliveMs, maxConnections, receiveTimeoutMs } = this.#limits;
    const headersTimeout = Math.min(headersTimeoutMs, receiveTimeoutMs);
    const server = createServer(
      {
        requestTimeout: receiveTimeoutMs,
        headersTimeout,
        keepAliveTimeout: keepAliveMs,
        // Node looks at its timeouts this often.
        connectionsCheckingInterval: Math.min(1_000, Math.ceil(headersTimeout / 4)),
        maxHeaderSize: maxHeadBytes,
        // Node would answer by itself, without a body.
        requireHostHeader: false,
      },
      (request, response) => this.#begin(request, response, false),
    );
    server.maxConnections = maxConnections;
    // By default those above 2,000 are silently dropped; the head's size bounds them.
    server.maxHeadersCount = 0;
    server.on("checkContinue", (request, response) => this.#begin(request, response, true));
    server.on("checkExpectation", (request, response) => {
      const problem = `the expectation ${JSON.stringify(request.headers.expect)} is not known`;
      this.#refuse(request, response, problem);
    });
    server.on("connect", (request, socket) => this.#refuseTunnel(request, socket));
    server.on("clientError", (error, socket) => this.#malformed(error, socket as Socket));
    server.on("drop", () => this.#events.dropped());
    return server;
  }

  #begin(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    // It was told that the connection ends: whatever it sends behind that is not looked at.
    if (this.#isLingering(request.socket)) {
      request.resume();
      return;
    }
    const problem = frameProblem(request);
    if (problem !== null) {
      this.#refuse(request, response, problem);
      return;
    }
    this.#connections.begin(request, response, expectsContinue);
    this.#take(request, response);
  }

  #refuse(request: IncomingMessage, response: ServerResponse, problem: string): void {
    const exchange = this.#connections.begin(request, response, false);
    this.#events.refuse(exchange, refusal("invalid_request", problem));
    this.linger(exchange.connection);
  }

  #refuseTunnel(request: IncomingMessage, socket: Duplex): void {
    const problem = `there is no CONNECT ${(request.url ?? "").slice(0, 200)}`;
    // Node has let go of the socket: nobody else listens to it.
    socket.on("error", () => socket.destroy());
    socket.end(this.#events.refusalText(refusal("route_not_found", problem)));
    socket.resume();
    this.linger(this.#connections.of(socket as Socket));
  }

  /** What Node's parser refuses, or what did not arrive in time. Called again for each further piece. */
  #malformed(error: NodeJS.ErrnoException, socket: Socket): void {
    const failure = parserError(error);
    if (failure === null || socket.destroyed || !socket.writable) {
      // Gone, or refused already: what it still sends is read for a while, and thrown away.
      if (failure === null || !this.#isLingering(socket)) socket.destroy();
      return;
    }
    // Nobody speaks: a browser's spare connection, a probe.
    if (socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const connection = this.#connections.of(socket);
    if (connection.lastWord !== null || this.#isLingering(socket)) return;
    this.linger(connection);
    const { arriving } = connection;
    if (arriving !== null) {
      arriving.arrival?.stop();
      this.#events.refuse(arriving, failure);
    } else if (connection.exchanges.length === 0) {
      socket.end(this.#events.refusalText(failure));
    } else {
      connection.closeByMs = Number.POSITIVE_INFINITY;
      connection.lastWord = () => {
        this.linger(connection);
        if (socket.writable) socket.end(this.#events.refusalText(failure));
      };
    }
  }

  #isLingering(socket: Socket): boolean {
    return this.#connections.of(socket).closeByMs !== Number.POSITIVE_INFINITY;
  }
}

/** In our words; null if there is nobody left to read them. */
function parserError({ code }: NodeJS.ErrnoException): ServingError | null {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return refusal("headers_too_large", "the request's head is over 16 KiB");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return refusal("payload_too_large", "the extensions of the body's chunks are over 16 KiB");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return refusal("request_timeout", "the request did not arrive in time");
    case "HPE_INVALID_EOF_STATE":
      return refusal("invalid_request", "the request ended before it was complete");
    case "HPE_INVALID_TRANSFER_ENCODING":
    case "HPE_INVALID_CONTENT_LENGTH":
    case "HPE_UNEXPECTED_CONTENT_LENGTH":
      return refusal("invalid_request", "content-length or transfer-encoding is not well-formed");
    default:
      if (code?.startsWith("HPE_") !== true) return null;
      return refusal("invalid_request", "this is not well-formed HTTP/1.1");
  }
}
