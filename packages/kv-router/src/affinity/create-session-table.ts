// Hot path: `ask`, `commit` and `end` run once per request of a session. Budget 1 µs each. Bench: bench/affinity/create-session-table.bench.ts
import type { ActorId, BookingId } from "@baton/protocol";
import type {
  Asked,
  BindingVersion,
  HeardBinding,
  HoldEnd,
  SessionBinding,
  SessionTable,
  SessionTableOptions,
  SessionTarget,
} from "./session-table.ts";

const defaultLimit = 65_536;
/** Expired bindings are looked for this often, or once a TTL if that is shorter. */
const longestSweepMs = 30_000;
/** A full table looks for expired bindings first, but not for every request that finds it full. */
const fullSweepMs = 1_000;

/** An empty table. */
export function createSessionTable(options: SessionTableOptions): SessionTable {
  return new Table(options);
}

interface Bound extends SessionTarget, BindingVersion {}

/** One session. It has a binding, or a claimant, or only holders that outlive a dropped binding. */
interface Entry {
  readonly key: string;
  bound: Bound | null;
  claimant: BookingId | null;
  holders: number;
  /** When the last holder left, or another router spoke of it; counts only while nobody holds it. */
  idleSinceMs: number;
}

interface Hold {
  readonly entry: Entry;
  wasDispatched: boolean;
}

const claimed: Asked = { kind: "claimed" };
const wait: Asked = { kind: "wait" };
const full: Asked = { kind: "full" };
const nothingEnds: HoldEnd = { reopened: false, binding: null };

class Table implements SessionTable {
  readonly #writer: ActorId;
  readonly #limit: number;
  readonly #entries = new Map<string, Entry>();
  readonly #holds = new Map<BookingId, Hold>();
  #ttlMs: number;
  #lastSweepMs = Number.NEGATIVE_INFINITY;
  /** The highest sequence seen. */
  #sequence = 0;

  constructor({ writer, ttlMs, limit = defaultLimit }: SessionTableOptions) {
    this.#writer = writer;
    this.#ttlMs = ttlMs;
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  setTtl(ttlMs: number): void {
    this.#ttlMs = ttlMs;
  }

  ask(holder: BookingId, key: string, nowMs: number): Asked {
    const entry = this.#live(key, nowMs) ?? this.#add(key, nowMs);
    if (entry === null) return full;
    if (entry.claimant !== null) return entry.claimant === holder ? claimed : wait;
    this.#hold(holder, entry);
    if (entry.bound !== null) return { kind: "bound", target: entry.bound };
    entry.claimant = holder;
    return claimed;
  }

  peek(key: string, nowMs: number): SessionTarget | null {
    const entry = this.#entries.get(key);
    return entry === undefined || this.#hasExpired(entry, nowMs) ? null : entry.bound;
  }

  abandon(holder: BookingId): void {
    const entry = this.#holds.get(holder)?.entry;
    if (entry === undefined || entry.claimant !== null) return;
    entry.bound = null;
    entry.claimant = holder;
  }

  commit(holder: BookingId, target: SessionTarget, nowMs: number): SessionBinding | null {
    const hold = this.#holds.get(holder);
    if (hold === undefined) return null;
    const { entry } = hold;
    hold.wasDispatched = true;
    if (entry.claimant === holder) entry.claimant = null;
    else if (entry.claimant !== null) return null;
    if (entry.bound === null || !isSame(entry.bound, target)) {
      const { workerId, generation, dpRank } = target;
      const version = { sequence: this.#nextSequence(nowMs), writer: this.#writer };
      entry.bound = { workerId, generation, dpRank, ...version };
    }
    return bindingOf(entry.key, entry.bound);
  }

  end(holder: BookingId, nowMs: number): HoldEnd {
    const hold = this.#holds.get(holder);
    if (hold === undefined) return nothingEnds;
    const { entry, wasDispatched } = hold;
    this.#holds.delete(holder);
    entry.holders -= 1;
    entry.idleSinceMs = nowMs;
    const reopened = entry.claimant === holder;
    if (reopened) entry.claimant = null;
    const { bound } = entry;
    if (bound === null) {
      if (entry.holders === 0) this.#entries.delete(entry.key);
      return { reopened, binding: null };
    }
    const isTold = wasDispatched && entry.holders === 0;
    return { reopened, binding: isTold ? bindingOf(entry.key, bound) : null };
  }

  hear(binding: SessionBinding, isKnown: boolean, nowMs: number): HeardBinding {
    this.#sequence = Math.max(this.#sequence, binding.sequence);
    if (!isKnown) return { kind: "ignored", reason: "unknown_worker" };
    const entry = this.#live(binding.key, nowMs) ?? this.#add(binding.key, nowMs);
    if (entry === null) return { kind: "ignored", reason: "full" };
    if (entry.claimant !== null) return { kind: "ignored", reason: "claimed" };
    const { bound } = entry;
    const isLater = bound === null || isAfter(binding, bound);
    if (bound !== null && !isLater && !isSame(bound, binding)) {
      return { kind: "ignored", reason: "older" };
    }
    entry.idleSinceMs = nowMs;
    if (isLater) entry.bound = boundOf(binding);
    return { kind: bound !== null && isSame(bound, binding) ? "refreshed" : "taken" };
  }

  sweep(nowMs: number): void {
    const periodMs = Math.min(this.#ttlMs, longestSweepMs);
    if (nowMs - this.#lastSweepMs >= periodMs) this.#sweepNow(nowMs);
  }

  #sweepNow(nowMs: number): void {
    this.#lastSweepMs = nowMs;
    for (const entry of this.#entries.values()) {
      if (this.#hasExpired(entry, nowMs)) this.#entries.delete(entry.key);
    }
  }

  #live(key: string, nowMs: number): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || !this.#hasExpired(entry, nowMs)) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  #hasExpired(entry: Entry, nowMs: number): boolean {
    return entry.holders === 0 && nowMs - entry.idleSinceMs >= this.#ttlMs;
  }

  #add(key: string, nowMs: number): Entry | null {
    if (this.#isFull && nowMs - this.#lastSweepMs >= fullSweepMs) this.#sweepNow(nowMs);
    if (this.#isFull) return null;
    const entry: Entry = { key, bound: null, claimant: null, holders: 0, idleSinceMs: nowMs };
    this.#entries.set(key, entry);
    return entry;
  }

  get #isFull(): boolean {
    return this.#entries.size >= this.#limit;
  }

  #hold(holder: BookingId, entry: Entry): void {
    if (this.#holds.has(holder)) return;
    this.#holds.set(holder, { entry, wasDispatched: false });
    entry.holders += 1;
  }

  /** Follows time, so that a router that starts anew under its old id does not begin below what others keep of it. */
  #nextSequence(nowMs: number): number {
    this.#sequence = Math.max(this.#sequence + 1, Math.floor(nowMs));
    return this.#sequence;
  }
}

function isSame(left: SessionTarget, right: SessionTarget): boolean {
  return (
    left.workerId === right.workerId &&
    left.generation === right.generation &&
    left.dpRank === right.dpRank
  );
}

function isAfter(left: BindingVersion, right: BindingVersion): boolean {
  return left.sequence === right.sequence
    ? left.writer > right.writer
    : left.sequence > right.sequence;
}

function boundOf({ workerId, generation, dpRank, sequence, writer }: SessionBinding): Bound {
  return { workerId, generation, dpRank, sequence, writer };
}

function bindingOf(key: string, bound: Bound): SessionBinding {
  return { key, ...bound };
}
