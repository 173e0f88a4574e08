import type { ActorId, ChunkHeader } from "@baton/protocol";
import type { Inbound, Link, LinkListener, LinkSubscription } from "./link.ts";
import type { MemoryBusOptions, MemoryNetwork } from "./memory-network.ts";

/** A member's subscription, as the network sees it. */
export interface MemorySubscription {
  readonly member: MemoryMember;
  readonly subject: string;
  readonly queue: string | null;
}

/** One way of a connection, as its member sees it. */
export type Direction = "in" | "out";

interface Held extends MemorySubscription {
  readonly deliver: (message: Inbound) => void;
  isClosed: boolean;
}

interface Parcel {
  readonly to: MemorySubscription;
  readonly message: Inbound;
  /** The receiver's connection that it was sent to. */
  readonly connection: number;
}

/** What one publisher has under way to one member, in order. */
interface Lane {
  readonly parcels: Parcel[];
  lastAtMs: number;
}

interface Outgoing {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly reply: string;
  readonly chunk: ChunkHeader | null;
}

const parcelsPerTurn = 256;
const drainPollMs = 1;

/** Hot path: every message in memory. One connection to a `MemoryNetwork`. */
export class MemoryMember implements Link {
  readonly id: ActorId;
  readonly #network: MemoryNetwork;
  readonly #listener: LinkListener;
  readonly #process: MemoryBusOptions["process"];
  readonly #held = new Set<Held>();
  readonly #lanes = new WeakMap<object, Lane>();
  #arrived: Parcel[] = [];
  #underWay = 0;
  #connection = 0;
  #isPumpSet = false;
  #isPaused = false;
  #isDeaf = false;
  /** What waits for the way out; null while that is open. */
  #waiting: Outgoing[] | null = null;
  #lost = 0;
  #phase: "connected" | "disconnected" | "closed" | "killed" = "connected";

  constructor(network: MemoryNetwork, listener: LinkListener, options: MemoryBusOptions) {
    this.#network = network;
    this.#listener = listener;
    this.#process = options.process;
    this.id = options.id;
  }

  get maxPayloadBytes(): number {
    return this.#network.maxPayloadBytes;
  }

  send(subject: string, payload: Uint8Array, reply: string, chunk: ChunkHeader | null): void {
    if (this.#phase !== "connected") return;
    if (this.#waiting === null) this.#network.route(this, subject, payload, reply, chunk);
    else this.#waiting.push({ subject, payload: new Uint8Array(payload), reply, chunk });
  }

  subscribe(
    subject: string,
    queue: string | null,
    deliver: (message: Inbound) => void,
  ): LinkSubscription {
    const held: Held = { member: this, subject, queue, deliver, isClosed: false };
    this.#held.add(held);
    if (this.#phase === "connected") this.#network.addSubscription(held);
    return {
      unsubscribe: () => {
        held.isClosed = true;
        this.#held.delete(held);
        this.#network.removeSubscription(held);
      },
      drain: () => {
        this.#held.delete(held);
        this.#network.removeSubscription(held);
        return this.#settled();
      },
    };
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#leave("closed");
    return Promise.resolve();
  }

  disconnect(): void {
    if (this.#phase !== "connected") return;
    this.#cut("disconnected");
    this.#listener.onDisconnected();
  }

  reconnect(): void {
    if (this.#phase !== "disconnected") return;
    this.#phase = "connected";
    for (const held of this.#held) this.#network.addSubscription(held);
    this.#listener.onConnected();
  }

  kill(): void {
    this.#leave("killed");
    this.#process?.kill();
  }

  pause(): void {
    this.#isPaused = true;
    this.#process?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#process?.resume();
    this.#pump();
  }

  holdBack(direction: Direction): void {
    if (direction === "in") this.#isDeaf = true;
    else if (this.#phase === "connected") this.#waiting ??= [];
  }

  letThrough(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const { subject, payload, reply, chunk } of waiting) {
      this.#network.route(this, subject, payload, reply, chunk);
    }
    if (!this.#isDeaf) return;
    this.#isDeaf = false;
    this.#pump();
  }

  /** Takes a message for one of its subscriptions; `from` is null for the server. */
  enqueue(from: MemoryMember | null, to: MemorySubscription, message: Inbound): void {
    if (this.#underWay + this.#arrived.length >= this.#network.maxPendingMessages) {
      this.#lost += 1;
      return;
    }
    const parcel: Parcel = { to, message, connection: this.#connection };
    const delayMs = this.#network.drawDelayMs();
    const lane = this.#laneFrom(from ?? this.#network);
    if (delayMs === 0 && lane.parcels.length === 0) {
      this.#arrived.push(parcel);
      this.#pumpLater();
      return;
    }
    const nowMs = this.#network.clock.nowMs();
    const atMs = Math.max(nowMs + delayMs, lane.lastAtMs);
    lane.lastAtMs = atMs;
    lane.parcels.push(parcel);
    this.#underWay += 1;
    this.#network.clock.setTimer(atMs - nowMs, () => this.#arrive(lane));
  }

  #laneFrom(from: object): Lane {
    const known = this.#lanes.get(from);
    if (known !== undefined) return known;
    const lane: Lane = { parcels: [], lastAtMs: 0 };
    this.#lanes.set(from, lane);
    return lane;
  }

  #arrive(lane: Lane): void {
    const parcel = lane.parcels.shift();
    if (parcel === undefined) return;
    this.#underWay -= 1;
    this.#arrived.push(parcel);
    this.#pump();
  }

  #pumpLater(): void {
    if (this.#isPumpSet) return;
    this.#isPumpSet = true;
    this.#network.clock.setTimer(0, () => {
      this.#isPumpSet = false;
      this.#pump();
    });
  }

  #pump(): void {
    const parcels = this.#arrived;
    const count = Math.min(parcels.length, parcelsPerTurn);
    let index = 0;
    while (index < count && !this.#isPaused && !this.#isDeaf) {
      const parcel = parcels[index];
      index += 1;
      if (parcel !== undefined) this.#deliver(parcel);
      if (this.#arrived !== parcels) return; // cut off by a handler
    }
    this.#arrived = parcels.slice(index);
    this.#reportLost();
    if (this.#arrived.length > 0 && !this.#isPaused && !this.#isDeaf) this.#pumpLater();
  }

  #deliver(parcel: Parcel): void {
    const held = parcel.to as Held;
    if (parcel.connection === this.#connection && !held.isClosed) held.deliver(parcel.message);
  }

  /** One burst counts once, and a stopped process counts when it goes on. */
  #reportLost(): void {
    if (this.#lost === 0 || this.#isPaused) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#listener.onSlowConsumer(lost);
  }

  #leave(phase: "closed" | "killed"): void {
    this.#cut(phase);
    this.#held.clear();
    this.#network.leave(this);
  }

  #cut(phase: "disconnected" | "closed" | "killed"): void {
    this.#phase = phase;
    this.#connection += 1;
    this.#arrived = [];
    this.#waiting = null;
    this.#isDeaf = false;
    for (const held of this.#held) this.#network.removeSubscription(held);
  }

  /** Resolves when what was under way now has been delivered. */
  async #settled(): Promise<void> {
    const connection = this.#connection;
    while (connection === this.#connection && this.#underWay + this.#arrived.length > 0) {
      await this.#network.clock.sleep(drainPollMs);
    }
  }
}
