import type { ActorId, ChunkHeader } from "@baton/protocol";
import type { Clock } from "../clock.ts";
import type { ProcessClock } from "../process-clock.ts";
import type { Random } from "../random.ts";
import { BaseBus, type BusOptions } from "./base-bus.ts";
import type { Bus, BusListener } from "./bus.ts";
import type { Inbound } from "./link.ts";
import { type Direction, MemoryMember, type MemorySubscription } from "./memory-member.ts";
import { SubjectTrie } from "./subject-trie.ts";

/** How the network behaves. */
export interface MemoryNetworkOptions {
  readonly clock: Clock;
  /** Draws delays and the members of queue groups. */
  readonly random: Random;
  /** Milliseconds that a message is under way, drawn evenly between the two; default 0, the next turn. */
  readonly minDelayMs?: number;
  readonly maxDelayMs?: number;
  /** Largest payload of one message in bytes, default 1 MiB as in NATS. */
  readonly maxPayloadBytes?: number;
  /** Messages that wait for one member at most, default 65,536. What is over it is lost and counted. */
  readonly maxPendingMessages?: number;
}

/** A message on the network, as an observer sees it when it is sent. */
export interface ObservedMessage {
  readonly atMs: number;
  readonly from: ActorId;
  readonly subject: string;
  /** Empty if there is none. */
  readonly reply: string;
  readonly payload: Uint8Array;
  readonly chunk: ChunkHeader | null;
  /** Deliveries that it makes. 0: nobody listens. */
  readonly receivers: number;
}

/** What a member gives to join. */
export interface MemoryBusOptions extends BusOptions {
  /** The member's clock, if it shall stop and die with the member. */
  readonly process?: ProcessClock;
}

const defaultMaxPayloadBytes = 1024 * 1024;
const defaultMaxPendingMessages = 65_536;

/**
 * NATS in memory: every message is copied, takes a drawn time, keeps its order from one publisher to one subscriber,
 * reaches one drawn member of each queue group, bounces to its publisher when nobody listens, and is lost when its
 * receiver is disconnected, dead or too slow.
 */
export class MemoryNetwork {
  readonly clock: Clock;
  readonly maxPendingMessages: number;
  readonly #options: MemoryNetworkOptions;
  readonly #subscriptions = new SubjectTrie<MemorySubscription>();
  readonly #members = new Map<ActorId, MemoryMember>();
  readonly #observers = new Set<(message: ObservedMessage) => void>();
  /** Shares of the messages of a member that are lost. */
  readonly #losses = new Map<ActorId, number>();
  #maxPayloadBytes: number;
  #connections = 0;

  constructor(options: MemoryNetworkOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#maxPayloadBytes = options.maxPayloadBytes ?? defaultMaxPayloadBytes;
    this.maxPendingMessages = options.maxPendingMessages ?? defaultMaxPendingMessages;
  }

  get maxPayloadBytes(): number {
    return this.#maxPayloadBytes;
  }

  /** Joins. The bus is connected at once. A later member of the same id stands for it in `kill` and the like. */
  connect(options: MemoryBusOptions): Bus {
    this.#connections += 1;
    const bus = new BaseBus(options, `${options.id}-${this.#connections.toString(36)}`);
    const member = new MemoryMember(this, bus, options);
    this.#members.set(options.id, member);
    bus.attach(member);
    return bus;
  }

  /** Shows every message when it is sent. The observer is no listener: it keeps nothing from bouncing. */
  observe(observer: (message: ObservedMessage) => void): BusListener {
    this.#observers.add(observer);
    return { unsubscribe: () => this.#observers.delete(observer) };
  }

  /** Cuts a member off: what is on its way to it is lost. */
  disconnect(id: ActorId): void {
    this.#members.get(id)?.disconnect();
  }

  /** Lets a member that was cut off come back. */
  reconnect(id: ActorId): void {
    this.#members.get(id)?.reconnect();
  }

  /** Ends a member as if its process had died: no goodbye, no further handler, and no timer of its process clock. */
  kill(id: ActorId): void {
    this.#members.get(id)?.kill();
    this.#members.delete(id);
  }

  /** Stops a member as SIGSTOP does: it stays connected, messages wait for it up to the limit. */
  pause(id: ActorId): void {
    this.#members.get(id)?.pause();
  }

  /** Lets a stopped member go on. */
  resume(id: ActorId): void {
    this.#members.get(id)?.resume();
  }

  /**
   * Keeps what a member sends, or what is sent to it, on its way, in order, as when a path fails one way under a connection
   * that stands. What waits is lost if the connection breaks meanwhile.
   */
  holdBack(id: ActorId, direction: Direction): void {
    this.#members.get(id)?.holdBack(direction);
  }

  /** Lets what was kept on its way go on. */
  letThrough(id: ActorId): void {
    this.#members.get(id)?.letThrough();
  }

  /**
   * Loses a share (0 to 1) of the messages from and to a member without a word, as a cluster of servers does whose links
   * break while every client is connected. 0 ends it.
   */
  lose(id: ActorId, share: number): void {
    if (share === 0) this.#losses.delete(id);
    else this.#losses.set(id, share);
  }

  /** Cuts everybody off, as when the server stops. */
  stopServer(): void {
    for (const member of this.#members.values()) member.disconnect();
  }

  /** Lets everybody come back, perhaps to another limit of payloads. */
  startServer(maxPayloadBytes = this.#maxPayloadBytes): void {
    this.#maxPayloadBytes = maxPayloadBytes;
    for (const member of this.#members.values()) member.reconnect();
  }

  /** For members: a subscription begins to count. */
  addSubscription(subscription: MemorySubscription): void {
    this.#subscriptions.add(subscription.subject, subscription);
  }

  /** For members: a subscription ends to count. */
  removeSubscription(subscription: MemorySubscription): void {
    this.#subscriptions.remove(subscription.subject, subscription);
  }

  /** For members: takes itself off. */
  leave(member: MemoryMember): void {
    if (this.#members.get(member.id) === member) this.#members.delete(member.id);
  }

  /** For members: the time that the next message takes. */
  drawDelayMs(): number {
    const min = this.#options.minDelayMs ?? 0;
    const max = this.#options.maxDelayMs ?? min;
    return max > min ? min + (max - min) * this.#options.random.number() : min;
  }

  /** For members: sends to whoever listens, or bounces. */
  route(
    from: MemoryMember,
    subject: string,
    payload: Uint8Array,
    reply: string,
    chunk: ChunkHeader | null,
  ): void {
    const receivers = this.#chooseInGroups(this.#subscriptions.match(subject));
    this.#show(from, subject, payload, reply, chunk, receivers.length);
    for (const subscription of receivers) {
      if (this.#isLost(from.id, subscription.member.id)) continue;
      const message: Inbound = {
        subject,
        payload: new Uint8Array(payload), // copies, also where the payload is a Buffer
        reply,
        noResponders: false,
        chunk,
      };
      subscription.member.enqueue(from, subscription, message);
    }
    if (receivers.length === 0 && reply !== "") this.#bounce(from, reply);
  }

  #bounce(to: MemoryMember, reply: string): void {
    const message: Inbound = {
      subject: reply,
      payload: new Uint8Array(0),
      reply: "",
      noResponders: true,
      chunk: null,
    };
    for (const subscription of this.#subscriptions.match(reply)) {
      if (subscription.member === to) to.enqueue(null, subscription, message);
    }
  }

  #isLost(from: ActorId, to: ActorId): boolean {
    if (this.#losses.size === 0) return false;
    const share = Math.max(this.#losses.get(from) ?? 0, this.#losses.get(to) ?? 0);
    return share > 0 && this.#options.random.number() < share;
  }

  /** Everybody without a group, and one drawn member of each group. */
  #chooseInGroups(matches: MemorySubscription[]): MemorySubscription[] {
    if (matches.every((subscription) => subscription.queue === null)) return matches;
    const chosen: MemorySubscription[] = [];
    const groups = new Map<string, MemorySubscription[]>();
    for (const subscription of matches) {
      if (subscription.queue === null) {
        chosen.push(subscription);
        continue;
      }
      const group = groups.get(subscription.queue);
      if (group === undefined) groups.set(subscription.queue, [subscription]);
      else group.push(subscription);
    }
    for (const group of groups.values()) {
      const index = group.length === 1 ? 0 : this.#options.random.u32() % group.length;
      const member = group[index];
      if (member !== undefined) chosen.push(member);
    }
    return chosen;
  }

  #show(
    from: MemoryMember,
    subject: string,
    payload: Uint8Array,
    reply: string,
    chunk: ChunkHeader | null,
    receivers: number,
  ): void {
    if (this.#observers.size === 0) return;
    const atMs = this.clock.nowMs();
    for (const observer of this.#observers) {
      observer({
        atMs,
        from: from.id,
        subject,
        reply,
        payload: new Uint8Array(payload),
        chunk,
        receivers,
      });
    }
  }
}
