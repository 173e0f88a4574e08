import { type ActorId, type ChunkJoiner, ServingError, type Subjects } from "@baton/protocol";
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { Metrics } from "../metrics.ts";
import type {
  Bus,
  BusListener,
  BusMessage,
  BusState,
  BusSubscription,
  PublishOptions,
  RequestOptions,
} from "./bus.ts";
import { type BusMetrics, busMetrics } from "./bus-metrics.ts";
import { ChunkExchange } from "./chunk-exchange.ts";
import type { Inbound, Link, LinkListener, LinkSubscription } from "./link.ts";
import { PendingReplies } from "./pending-replies.ts";

/** Whose bus it is and what it needs. */
export interface BusOptions {
  readonly id: ActorId;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Largest payload after joining, default 64 MiB. */
  readonly maxMessageBytes?: number;
  /** Milliseconds without a part after which an unfinished large payload is dropped, default 5,000. */
  readonly chunkStaleMs?: number;
  /** Milliseconds that a drain waits for what is under way, default 2,000. */
  readonly drainTimeoutMs?: number;
}

const defaultMaxMessageBytes = 64 * 1024 * 1024;
const defaultChunkStaleMs = 5_000;
const defaultDrainTimeoutMs = 2_000;
const drainPollMs = 5;

/**
 * Hot path: every message. Budget 8 µs a request and end over NATS. Bench: bench/bus/base-bus.bench.ts.
 * What a bus is, over any transport: replies, bounces, large payloads, figures.
 */
export class BaseBus implements Bus, LinkListener {
  readonly maxMessageBytes: number;
  readonly #options: BusOptions;
  readonly #inbox: string;
  readonly #metrics: BusMetrics;
  readonly #pending: PendingReplies;
  readonly #chunks: ChunkExchange;
  readonly #inboxJoiner: ChunkJoiner;
  readonly #subscriptions = new Set<Subscription>();
  readonly #bounceHandlers = new Set<(bounceKey: string) => void>();
  readonly #stateHandlers = new Set<(state: BusState) => void>();
  #link: Link | null = null;
  #state: BusState = "disconnected";

  constructor(options: BusOptions, connectionId: string) {
    this.#options = options;
    this.maxMessageBytes = options.maxMessageBytes ?? defaultMaxMessageBytes;
    this.#inbox = options.subjects.inbox(options.id);
    this.#pending = new PendingReplies(options.clock);
    this.#metrics = busMetrics(options.metrics, () => this.#pending.size);
    this.#chunks = new ChunkExchange(
      {
        maxMessageBytes: this.maxMessageBytes,
        maxHeldBytes: 2 * this.maxMessageBytes,
        staleMs: options.chunkStaleMs ?? defaultChunkStaleMs,
      },
      {
        clock: options.clock,
        inbox: this.#inbox,
        idPrefix: connectionId,
        onDropped: (count) => this.#metrics.dropped.add(count, { reason: "unfinished_chunks" }),
      },
    );
    this.#inboxJoiner = this.#chunks.newJoiner();
  }

  /** Gives the bus its transport, once. */
  attach(link: Link): void {
    this.#link = link;
    link.subscribe(`${this.#inbox}.>`, null, (message) => this.#onInbox(message));
    this.#setState("connected");
  }

  get state(): BusState {
    return this.#state;
  }

  publish(subject: string, payload: Uint8Array, options?: PublishOptions): void {
    const key = options?.bounceKey;
    this.#send(subject, payload, key === undefined ? "" : `${this.#inbox}.b.${key}`);
  }

  request(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    return this.#pending.ask(subject, options.timeoutMs, (token) =>
      this.#send(subject, payload, `${this.#inbox}.${token}`),
    );
  }

  requestMany(
    subject: string,
    payload: Uint8Array,
    onReply: (payload: Uint8Array) => void,
  ): BusListener {
    const token = this.#pending.open((reply) => this.#guard(subject, () => onReply(reply)));
    try {
      this.#send(subject, payload, `${this.#inbox}.${token}`);
    } catch (error) {
      this.#pending.close(token);
      throw error;
    }
    return { unsubscribe: () => this.#pending.close(token) };
  }

  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options?: { readonly queue?: string },
  ): BusSubscription {
    const link = this.#link;
    if (link === null || this.#state === "closed") throw new ServingError("bus_unavailable");
    const queue = options?.queue ?? null;
    const joiner = queue === null ? this.#chunks.newJoiner() : null;
    const handle = (message: Inbound) => this.#handle(message, handler);
    const subscription = new Subscription(
      link.subscribe(subject, queue, (message) => this.#onMessage(message, joiner, handle)),
      () => {
        this.#subscriptions.delete(subscription);
        if (joiner !== null) this.#chunks.dropJoiner(joiner);
      },
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }

  onUndeliverable(handler: (bounceKey: string) => void): BusListener {
    this.#bounceHandlers.add(handler);
    return { unsubscribe: () => this.#bounceHandlers.delete(handler) };
  }

  onState(handler: (state: BusState) => void): BusListener {
    this.#stateHandlers.add(handler);
    return { unsubscribe: () => this.#stateHandlers.delete(handler) };
  }

  async flush(): Promise<void> {
    if (this.#state !== "connected") throw new ServingError("bus_unavailable");
    try {
      await this.#link?.flush();
    } catch (error) {
      throw new ServingError("bus_unavailable", {}, { cause: error });
    }
  }

  async drain(): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + (this.#options.drainTimeoutMs ?? defaultDrainTimeoutMs);
    const ends = [...this.#subscriptions].map((subscription) => subscription.drain());
    await this.#within(untilMs, Promise.all(ends));
    while (this.#goesOn(untilMs) && this.#pending.requests > 0) await clock.sleep(drainPollMs);
    await this.#within(untilMs, this.#link?.flush());
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#end();
    await this.#link?.close();
  }

  onConnected(): void {
    if (this.#state !== "disconnected") return;
    this.#metrics.reconnects.add();
    this.#setState("connected");
  }

  onDisconnected(): void {
    if (this.#state !== "connected") return;
    this.#setState("disconnected");
    this.#chunks.clear();
    this.#pending.rejectAll();
  }

  onClosed(): void {
    this.#end();
  }

  onSlowConsumer(lost: number | null): void {
    this.#metrics.slowConsumers.add();
    this.#options.log.warn({ lost }, "slow consumer");
  }

  onMalformed(subject: string): void {
    this.#metrics.malformed.add();
    this.#options.log.warn({ subject }, "malformed message");
  }

  /** Waits for `done`, whatever becomes of it, but not longer than until `untilMs`, and not while disconnected. */
  async #within(untilMs: number, done: Promise<unknown> | undefined): Promise<void> {
    if (!this.#goesOn(untilMs)) {
      done?.catch(() => undefined); // nobody is left to hear that the connection is gone
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.setTimer(untilMs - this.#options.clock.nowMs(), end);
      const watch = this.onState(end);
      function end(): void {
        timer.cancel();
        watch.unsubscribe();
        resolve();
      }
      if (done === undefined) end();
      else done.then(end, end);
    });
  }

  #goesOn(untilMs: number): boolean {
    return this.#state === "connected" && this.#options.clock.nowMs() < untilMs;
  }

  #end(): void {
    if (this.#state === "closed") return;
    this.#setState("closed");
    for (const subscription of [...this.#subscriptions]) subscription.unsubscribe();
    this.#chunks.clear();
    this.#pending.rejectAll();
  }

  #setState(state: BusState): void {
    this.#state = state;
    for (const handler of [...this.#stateHandlers]) this.#guard("state", () => handler(state));
  }

  #send(subject: string, payload: Uint8Array, reply: string): void {
    const link = this.#link;
    if (link === null || this.#state !== "connected") throw new ServingError("bus_unavailable");
    if (payload.length > this.maxMessageBytes) {
      throw new ServingError("payload_too_large", {
        bytes: payload.length,
        maxBytes: this.maxMessageBytes,
      });
    }
    if (payload.length <= link.maxPayloadBytes) link.send(subject, payload, reply, null);
    else this.#chunks.send(link, subject, payload, reply);
    this.#metrics.messagesOut.add();
    this.#metrics.bytesOut.add(payload.length);
  }

  /** Answers whoever asked. What cannot be answered is counted: the asker has a deadline. */
  #respond(reply: string, payload: Uint8Array): void {
    if (this.#state === "connected") this.#send(reply, payload, "");
    else this.#metrics.dropped.add(1, { reason: "not_connected" });
  }

  #onMessage(
    message: Inbound,
    joiner: ChunkJoiner | null,
    handle: (message: Inbound) => void,
  ): void {
    const chunk = message.chunk;
    const link = this.#link;
    if (chunk === null) {
      handle(message);
    } else if (joiner !== null) {
      this.#chunks.take(joiner, message, chunk, handle);
    } else if (link !== null && this.#state === "connected") {
      this.#guard(message.subject, () => this.#chunks.takeInGroup(link, message, chunk, handle));
    }
  }

  #handle(message: Inbound, handler: (message: BusMessage) => void): void {
    this.#metrics.messagesIn.add();
    this.#metrics.bytesIn.add(message.payload.length);
    try {
      handler(new Message(message, (reply, payload) => this.#respond(reply, payload)));
    } catch (error) {
      this.#onHandlerError(message.subject, error);
    }
  }

  #onInbox(message: Inbound): void {
    const rest = message.subject.slice(this.#inbox.length + 1);
    if (rest.startsWith("p.")) {
      this.#chunks.takeAsked(message);
    } else if (rest.startsWith("c.")) {
      this.#onRestAsked(rest.slice(2), message);
    } else if (rest.startsWith("b.")) {
      if (message.noResponders) this.#onBounce(rest.slice(2));
    } else if (message.noResponders) {
      this.#pending.noResponders(rest);
    } else if (message.chunk === null) {
      this.#onReply(rest, message.payload);
    } else {
      this.#chunks.take(this.#inboxJoiner, message, message.chunk, (whole) =>
        this.#onReply(rest, whole.payload),
      );
    }
  }

  #onRestAsked(id: string, message: Inbound): void {
    const link = this.#link;
    if (link === null || message.reply === "") return;
    this.#guard(message.subject, () => this.#chunks.sendRest(link, id, message.reply));
  }

  #onReply(token: string, payload: Uint8Array): void {
    this.#metrics.messagesIn.add();
    this.#metrics.bytesIn.add(payload.length);
    if (!this.#pending.answer(token, payload))
      this.#metrics.dropped.add(1, { reason: "late_reply" });
  }

  #onBounce(key: string): void {
    this.#metrics.bounced.add();
    for (const handler of [...this.#bounceHandlers]) this.#guard("bounce", () => handler(key));
  }

  #guard(subject: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#onHandlerError(subject, error);
    }
  }

  /** A handler's failure stops nothing: it is counted and logged here. */
  #onHandlerError(subject: string, error: unknown): void {
    const isMalformed = error instanceof ServingError && error.code === "malformed_message";
    if (isMalformed) this.#metrics.malformed.add();
    else this.#metrics.handlerErrors.add();
    this.#options.log.error(
      { subject, err: error },
      isMalformed ? "malformed message" : "handler failed",
    );
  }
}

class Message implements BusMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly replyTo: string | null;
  readonly #send: (reply: string, payload: Uint8Array) => void;

  constructor(message: Inbound, send: (reply: string, payload: Uint8Array) => void) {
    this.subject = message.subject;
    this.payload = message.payload;
    this.replyTo = message.reply === "" ? null : message.reply;
    this.#send = send;
  }

  respond(payload: Uint8Array): void {
    if (this.replyTo !== null) this.#send(this.replyTo, payload);
  }
}

class Subscription implements BusSubscription {
  readonly #link: LinkSubscription;
  readonly #onEnd: () => void;
  #isEnded = false;

  constructor(link: LinkSubscription, onEnd: () => void) {
    this.#link = link;
    this.#onEnd = onEnd;
  }

  unsubscribe(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd();
    this.#link.unsubscribe();
  }

  async drain(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    // A connection that is gone has nothing under way.
    await this.#link.drain().catch(() => undefined);
    this.#onEnd();
  }
}
