/** Hot path: a few calls per request. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { hasBody } from "./request-head.ts";

/** A body that is on its way. */
export interface Arrival {
  /** Reads no more of it, and holds nothing of it. */
  stop(): void;
}

/** What is told of connections. */
export interface ConnectionEvents {
  /** A client left before its request was whole. */
  cutOff(): void;
  /** A client was cut because it does not read. */
  stalled(): void;
}

/** A request and its answer. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  /** Whether the client waits to be told that its body is wanted. */
  readonly expectsContinue: boolean;
  /** Set while the body is read. */
  arrival: Arrival | null = null;

  constructor(
    connection: Connection,
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ) {
    this.connection = connection;
    this.request = request;
    this.response = response;
    this.expectsContinue = expectsContinue;
  }

  /** Whether bytes of this request are still to come. */
  get isArriving(): boolean {
    return !this.request.complete && hasBody(this.request);
  }
}

/** One connection and what is under way on it. */
export class Connection {
  readonly socket: Socket;
  /** In the order of their answers. */
  readonly exchanges: Exchange[] = [];
  /** When it is closed at the latest; `Infinity`: not yet known. */
  closeByMs = Number.POSITIVE_INFINITY;
  /** Said once the answers that are under way are complete, instead of taking further requests. */
  lastWord: (() => void) | null = null;
  /** What the client had taken when it last took a whole piece, and when that was seen. */
  #takenBytes = -1;
  #takenAtMs = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** The request whose bytes are still to come. */
  get arriving(): Exchange | null {
    const last = this.exchanges.at(-1);
    return last?.isArriving === true ? last : null;
  }

  /**
   * Whether the client has left what waits for it lying for so long. Node tells of a piece that is written when the kernel
   * has all of it, so the time is that of one piece: an event of a stream, or a whole answer.
   */
  isStalled(nowMs: number, timeoutMs: number): boolean {
    const waiting = this.socket.writableLength;
    const takenBytes = this.socket.bytesWritten - waiting;
    if (waiting === 0 || takenBytes !== this.#takenBytes) {
      this.#takenBytes = takenBytes;
      this.#takenAtMs = nowMs;
    }
    return nowMs - this.#takenAtMs >= timeoutMs;
  }
}

/** Every connection of a server, and what is to be done about those that go on for too long. */
export class Connections {
  readonly #connections = new Map<Socket, Connection>();
  readonly #stallTimeoutMs: number;
  readonly #events: ConnectionEvents;

  /** A client that does not take what waits for it within `stallTimeoutMs` is cut. */
  constructor(stallTimeoutMs: number, events: ConnectionEvents) {
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#events = events;
  }

  get size(): number {
    return this.#connections.size;
  }

  of(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection = new Connection(socket);
    this.#connections.set(socket, connection);
    socket.once("close", () => this.#closed(connection));
    return connection;
  }

  /** A request's head is here. */
  begin(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Exchange {
    const connection = this.of(request.socket);
    const exchange = new Exchange(connection, request, response, expectsContinue);
    connection.exchanges.push(exchange);
    response.once("close", () => this.#ended(exchange));
    return exchange;
  }

  /** The exchange of a request that has begun and whose answer is not complete. */
  find(request: IncomingMessage): Exchange | undefined {
    return this.#connections
      .get(request.socket)
      ?.exchanges.findLast((exchange) => exchange.request === request);
  }

  /** Closes the connections whose time has come. */
  sweep(nowMs: number): void {
    for (const connection of this.#connections.values()) {
      // Its end is not told within this turn.
      if (connection.socket.destroyed) continue;
      if (nowMs >= connection.closeByMs) connection.socket.destroy();
      else if (connection.isStalled(nowMs, this.#stallTimeoutMs)) {
        connection.socket.destroy();
        this.#events.stalled();
      }
    }
  }

  #closed(connection: Connection): void {
    this.#connections.delete(connection.socket);
    for (const exchange of connection.exchanges.splice(0)) this.#cutOff(exchange);
  }

  #ended(exchange: Exchange): void {
    const { exchanges, lastWord } = exchange.connection;
    const at = exchanges.indexOf(exchange);
    if (at === -1) return;
    exchanges.splice(at, 1);
    this.#cutOff(exchange);
    if (exchanges.length === 0) lastWord?.();
  }

  #cutOff({ arrival }: Exchange): void {
    if (arrival === null) return;
    arrival.stop();
    this.#events.cutOff();
  }
}
