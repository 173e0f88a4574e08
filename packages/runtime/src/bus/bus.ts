/** A message as it reaches a handler. */
export interface BusMessage {
  readonly subject: string;
  /** A view that stays valid and is nobody else's to write. */
  readonly payload: Uint8Array;
  /** Where the sender hears an answer or a bounce; null if nowhere. For tools that watch the bus. */
  readonly replyTo: string | null;
  /** Answers the sender's `request`. Does nothing if the message was not a request. */
  respond(payload: Uint8Array): void;
}

/** Somebody who hears something of a bus. */
export interface BusListener {
  /** Ends it. What is already on its way may still be handled. */
  unsubscribe(): void;
}

/** A live subscription. */
export interface BusSubscription extends BusListener {
  /**
   * Ends it, and resolves when what was already on its way has been handled: a member that leaves a queue group loses
   * nothing. With the connection gone it resolves at once.
   */
  drain(): Promise<void>;
}

/** `connected` serves; `disconnected` tries to come back; `closed` is final. */
export type BusState = "connected" | "disconnected" | "closed";

/** Options of a publish. */
export interface PublishOptions {
  /**
   * A subject token. If nobody listens on the subject, every `onUndeliverable` handler of this bus gets it. Costs no
   * state per message: the key travels in the reply subject.
   */
  readonly bounceKey?: string;
}

/**
 * The message bus of one actor. Payloads over the server's limit are split and joined underneath, up to
 * `maxMessageBytes`. Order is kept from one publisher to one subscriber. Handlers run one at a time, synchronously;
 * what they throw is logged and counted, and stops nothing.
 */
export interface Bus {
  readonly state: BusState;
  /** The largest payload that `publish` takes, in bytes, after splitting. */
  readonly maxMessageBytes: number;
  /**
   * Sends to whoever listens now. Throws `bus_unavailable` while disconnected (nothing is kept to be sent late) and
   * `payload_too_large` over `maxMessageBytes`.
   */
  publish(subject: string, payload: Uint8Array, options?: PublishOptions): void;
  /**
   * Sends and waits for one answer. Rejects with `no_responders` at once if nobody listens, `deadline_exceeded` after
   * `timeoutMs`, `bus_unavailable` when the connection goes, and what `publish` throws.
   */
  request(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Uint8Array>;
  /**
   * Sends and hands every answer to `onReply` until the returned subscription is ended. Nobody answering is silence.
   */
  requestMany(
    subject: string,
    payload: Uint8Array,
    onReply: (payload: Uint8Array) => void,
  ): BusListener;
  /** Hears a subject, which may hold wildcards; of a queue group one member gets each message. */
  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options?: { readonly queue?: string },
  ): BusSubscription;
  /** Hears the bounce keys of this bus's messages that nobody listened for. */
  onUndeliverable(handler: (bounceKey: string) => void): BusListener;
  /** Hears changes of `state`. */
  onState(handler: (state: BusState) => void): BusListener;
  /** Resolves when everything published so far has reached the server. Rejects with `bus_unavailable`. */
  flush(): Promise<void>;
  /** Ends subscriptions, lets what is under way finish, then closes. Ends in bounded time with the server gone. */
  drain(): Promise<void>;
  /** Closes at once. Pending requests reject with `bus_unavailable`. */
  close(): Promise<void>;
}

/** Options of a request. */
export interface RequestOptions {
  readonly timeoutMs: number;
}
