import { DebugEvents, type NatsConnection, type Status } from "nats";

/** What we look at inside the client: its own states lag behind by some turns of the promise queue, and it writes too often. */
interface Internals {
  readonly protocol?: {
    readonly connected?: boolean;
    readonly lastError?: Error;
    readonly transport?: Transport;
  };
}

/** One connection, or one try to connect. */
interface Transport {
  /** Whether it has told of its end, which it does once. */
  done: boolean;
  readonly socket?: Socket;
}

/** Writes can be held back and joined. */
interface Socket {
  cork(): void;
  uncork(): void;
  destroy(): void;
}

/**
 * The client's connections, one at a time and none beyond its end. It leaves open what it gives up, a try to connect that takes too
 * long: a server that hung answers it later and ends it for want of a login, and the client takes that for the end of the
 * connection that it has by then and dials another beside it. All comes twice then, and each of the two is dropped in turn.
 * And before it closes a connection that is silent it waits until all is written, which never is if the other side does not read.
 */
export class NatsTransports {
  readonly #internals: Internals;
  #current: Transport | undefined;

  constructor(connection: NatsConnection) {
    this.#internals = connection as unknown as Internals;
    this.#current = this.#internals.protocol?.transport;
  }

  get socket(): Socket | undefined {
    return this.#internals.protocol?.transport?.socket;
  }

  get isConnected(): boolean {
    return this.#internals.protocol?.connected !== false;
  }

  get lastError(): Error | undefined {
    return this.#internals.protocol?.lastError;
  }

  /** Takes every word of the client on its state. */
  follow({ type }: Status): void {
    if (type === DebugEvents.StaleConnection) this.socket?.destroy();
    const transport = this.#internals.protocol?.transport;
    const replaced = this.#current;
    this.#current = transport;
    if (replaced === undefined || replaced === transport) return;
    replaced.done = true;
    replaced.socket?.destroy();
  }
}
