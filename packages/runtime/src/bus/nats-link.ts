import { type ChunkHeader, readChunkHeader, ServingError, writeChunkHeader } from "@baton/protocol";
import { ErrorCode, Events, headers, type Msg, type NatsConnection, NatsError } from "nats";
import type { BusOptions } from "./base-bus.ts";
import type { Inbound, Link, LinkListener, LinkSubscription } from "./link.ts";
import { NatsTransports } from "./nats-transports.ts";

const noResponders = 503;
/**
 * A subject may hold an id that came over the bus: after a blank in it the server would read on as another command of ours, and it
 * ends the connection of who sends a line of over 4 kB.
 */
const blank = /\s/;
const longestSubject = 512;
const fallbackMaxPayloadBytes = 1024 * 1024;

/** Hot path: every message over NATS. One connection, with callbacks and no iterators. */
export class NatsLink implements Link {
  readonly #connection: NatsConnection;
  readonly #transports: NatsTransports;
  readonly #listener: LinkListener;
  readonly #log: BusOptions["log"];
  readonly #clock: BusOptions["clock"];
  #isCorked = false;
  #maxPayloadBytes: number;
  #serverId: string;
  #hasSlowError = false;
  #isClosing = false;

  constructor(connection: NatsConnection, listener: LinkListener, options: BusOptions) {
    this.#connection = connection;
    this.#transports = new NatsTransports(connection);
    this.#listener = listener;
    this.#log = options.log;
    this.#clock = options.clock;
    this.#maxPayloadBytes = connection.info?.max_payload ?? fallbackMaxPayloadBytes;
    this.#serverId = connection.info?.server_id ?? "";
    void this.#follow();
    void connection.closed().then(() => listener.onClosed());
  }

  get maxPayloadBytes(): number {
    return this.#maxPayloadBytes;
  }

  send(subject: string, payload: Uint8Array, reply: string, chunk: ChunkHeader | null): void {
    // While the client dials it would keep what is published and send it late.
    if (!this.#isConnected()) throw new ServingError("bus_unavailable", { subject });
    if (!isSubject(subject) || !isSubject(reply)) {
      throw new ServingError("malformed_message", { subject, reply });
    }
    this.#cork();
    try {
      if (chunk !== null) this.#sendChunk(subject, payload, reply, chunk);
      else if (reply === "") this.#connection.publish(subject, payload);
      else this.#connection.publish(subject, payload, { reply });
    } catch (error) {
      throw asServingError(error, subject);
    }
  }

  subscribe(
    subject: string,
    queue: string | null,
    deliver: (message: Inbound) => void,
  ): LinkSubscription {
    const subscription = this.#connection.subscribe(subject, {
      ...(queue === null ? {} : { queue }),
      callback: (error, message) => {
        if (error === null) this.#deliver(message, deliver);
        else this.#log.error({ subject, err: error }, "subscription refused");
      },
    });
    return {
      unsubscribe: () => {
        if (!this.#connection.isClosed()) subscription.unsubscribe();
      },
      drain: () => subscription.drain(),
    };
  }

  flush(): Promise<void> {
    return this.#connection.flush();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#connection.close();
  }

  /**
   * Joins what is published in one turn of the loop into one write. The client alone writes once a message, and under load
   * those writes were a third of a Frontend's CPU.
   */
  #cork(): void {
    const socket = this.#transports.socket;
    if (this.#isCorked || socket === undefined) return;
    this.#isCorked = true;
    socket.cork();
    void this.#clock.yield().then(() => {
      this.#isCorked = false;
      socket.uncork();
    });
  }

  #sendChunk(subject: string, payload: Uint8Array, reply: string, chunk: ChunkHeader): void {
    const fields = headers();
    for (const [name, value] of writeChunkHeader(chunk)) fields.set(name, value);
    this.#connection.publish(subject, payload, { reply, headers: fields });
  }

  #deliver(message: Msg, deliver: (message: Inbound) => void): void {
    const data = message.data;
    // A Buffer's slice does not copy, so handlers get a plain view of the same bytes.
    const payload = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    let chunk: ChunkHeader | null = null;
    let isBounce = false;
    try {
      // Read here for the first time: the client ends its connection if this fails in its hands.
      const fields = message.headers;
      if (fields !== undefined) {
        isBounce = fields.code === noResponders && payload.length === 0;
        chunk = readChunkHeader((name) => fields.get(name));
      }
    } catch {
      this.#listener.onMalformed(message.subject); // counted and logged there
      return;
    }
    deliver({
      subject: message.subject,
      payload,
      reply: message.reply ?? "",
      noResponders: isBounce,
      chunk,
    });
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      this.#transports.follow(status);
      if (status.type === Events.Disconnect) this.#listener.onDisconnected();
      else if (status.type === Events.Reconnect) this.#onReconnect();
      else if (status.type === Events.Error) this.#onError(String(status.data));
    }
  }

  /**
   * A server that lives on but has cut us off found us too slow: it closes such a connection without a word. The
   * same holds after a fault of the network, which is counted with it.
   */
  #onReconnect(): void {
    const info = this.#connection.info;
    const isSameServer = info?.server_id === this.#serverId;
    if ((isSameServer || this.#hasSlowError) && !this.#isClosing)
      this.#listener.onSlowConsumer(null);
    this.#hasSlowError = false;
    this.#serverId = info?.server_id ?? "";
    this.#maxPayloadBytes = info?.max_payload ?? this.#maxPayloadBytes;
    this.#listener.onConnected();
  }

  #onError(code: string): void {
    const { lastError } = this.#transports;
    if (/slow consumer/i.test(lastError?.message ?? "")) this.#hasSlowError = true;
    this.#log.warn({ code, problem: lastError?.message }, "nats error");
  }

  #isConnected(): boolean {
    return this.#transports.isConnected && !this.#connection.isClosed();
  }
}

function isSubject(text: string): boolean {
  return text.length <= longestSubject && !blank.test(text);
}

function asServingError(error: unknown, subject: string): ServingError {
  if (error instanceof NatsError && error.code === ErrorCode.MaxPayloadExceeded) {
    return new ServingError("payload_too_large", { subject }, { cause: error });
  }
  return new ServingError("bus_unavailable", { subject }, { cause: error });
}
