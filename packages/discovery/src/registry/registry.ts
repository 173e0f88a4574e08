import type { CatalogWorker, WorkerRegistration } from "@baton/protocol";
import type { CardConflict } from "./card-fingerprint.ts";
import { conflictsOf, type OwnershipRules } from "./ownership.ts";
import { makeEntry, type RegistryEntry, updateEntry } from "./registry-entry.ts";

/** What the registry keeps to. Times in milliseconds. */
export interface RegistryOptions extends OwnershipRules {
  readonly namespace: string;
  /** How long a worker that has registered may be unheard. */
  readonly leaseMs: number;
  /** How long a lost worker is shown. */
  readonly forgetAfterMs: number;
  /** Most workers that are known at once. */
  readonly maxWorkers: number;
}

/** What became of a registration. */
export type RegisterOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly conflicts: readonly CardConflict[]; readonly why: string }
  /** Not listed at all: an older start, another namespace, no room. `lostGeneration`: the later start, if it is lost. */
  | { readonly kind: "rejected"; readonly why: string; readonly lostGeneration?: number };

/** Counts that only go up. */
export interface RegistryCounts {
  lost: number;
  returned: number;
  forgotten: number;
}

/**
 * Who serves in one namespace, by what they said of themselves and how long ago. No I/O and no clock: time comes with
 * each call. `version` goes up with every change that a catalog shows.
 */
export class Registry {
  readonly counts: RegistryCounts = { lost: 0, returned: 0, forgotten: 0 };
  readonly #options: RegistryOptions;
  readonly #entries = new Map<string, RegistryEntry>();
  readonly #byModel = new Map<string, Set<RegistryEntry>>();
  #version = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** All workers, in order of registration. */
  entries(): IterableIterator<RegistryEntry> {
    return this.#entries.values();
  }

  /** Models in order of their first worker, each with its workers. */
  models(): IterableIterator<[model: string, workers: ReadonlySet<RegistryEntry>]> {
    return this.#byModel.entries();
  }

  has(id: string, generation: number): boolean {
    return this.#entries.get(id)?.registration.generation === generation;
  }

  /** Lists a worker, or says why not. The same registration again changes nothing but the time of asking. */
  register(registration: WorkerRegistration, nowMs: number): RegisterOutcome {
    const known = this.#entries.get(registration.id);
    const rejection = this.#reject(registration, known);
    if (rejection !== undefined) return rejection;
    const entry = this.#enter(registration, known, nowMs);
    const conflicts = this.#conflictsOf(entry, nowMs);
    if (conflicts.length === 0) {
      this.#accept(entry);
      return { kind: "accepted" };
    }
    this.#refuse(entry, conflicts, nowMs);
    const fields = conflicts.map(({ field }) => field).join(", ");
    return {
      kind: "refused",
      conflicts,
      why: `the card differs from the serving one in ${fields}`,
    };
  }

  /** A worker says that it leaves: it takes no more work, and is removed when it is gone. False if it is unknown. */
  deregister(id: string, generation: number): boolean {
    const entry = this.#find(id, generation);
    if (entry === undefined) return false;
    if (entry.state === "refused" || entry.state === "lost") this.#remove(id);
    else this.#setState(entry, "draining");
    return true;
  }

  /** A worker is heard. `drains`: its heartbeat says so. */
  hear(id: string, generation: number, drains: boolean, nowMs: number): void {
    const entry = this.#find(id, generation);
    if (entry === undefined) return;
    entry.unheard = false;
    if (entry.state === "lost") this.#return(entry, nowMs);
    if (drains && entry.state === "live") this.#setState(entry, "draining");
  }

  /** A worker is gone. `left`: it said goodbye, or had said that it leaves. */
  lose(id: string, generation: number, left: boolean, nowMs: number): void {
    const entry = this.#find(id, generation);
    if (entry === undefined || (entry.state === "lost" && !left)) return;
    if (left || entry.state !== "live") {
      // Nothing is served by a refused worker, and nobody waits for one that was leaving.
      this.#remove(id);
      return;
    }
    this.counts.lost += 1;
    entry.lostAtMs = nowMs;
    this.#setState(entry, "lost");
  }

  /** Gives up workers that were never heard, and forgets those lost long ago. */
  sweep(nowMs: number): void {
    for (const [id, entry] of this.#entries) {
      const { generation } = entry.registration;
      const isSilent = entry.unheard && entry.state !== "lost" && nowMs >= entry.unheardUntilMs;
      if (isSilent) this.lose(id, generation, false, nowMs);
      if (entry.state === "lost" && nowMs - entry.lostAtMs >= this.#options.forgetAfterMs) {
        this.counts.forgotten += 1;
        this.#remove(id);
      }
    }
  }

  /** Nothing could be heard for a while: nobody is given up before `untilMs`. */
  pardon(untilMs: number): void {
    for (const entry of this.#entries.values()) {
      entry.unheardUntilMs = Math.max(entry.unheardUntilMs, untilMs);
    }
  }

  #find(id: string, generation: number): RegistryEntry | undefined {
    const entry = this.#entries.get(id);
    return entry?.registration.generation === generation ? entry : undefined;
  }

  #reject(
    registration: WorkerRegistration,
    known: RegistryEntry | undefined,
  ): Extract<RegisterOutcome, { kind: "rejected" }> | undefined {
    const { namespace, maxWorkers } = this.#options;
    const rejected = (why: string) => ({ kind: "rejected", why }) as const;
    if (registration.namespace !== namespace) return rejected(`this is namespace ${namespace}`);
    if (known !== undefined) {
      const { generation } = known.registration;
      if (registration.generation >= generation) return undefined;
      // Whoever asks lives. Its clock was set back, or the two have run beside each other.
      return known.state === "lost"
        ? { ...rejected("a later start of this worker is lost"), lostGeneration: generation }
        : rejected("a later start of this worker is registered");
    }
    if (this.#entries.size < maxWorkers || this.#forgetOldestLost()) return undefined;
    return rejected(`${maxWorkers} workers are registered, which is the limit`);
  }

  #enter(
    registration: WorkerRegistration,
    known: RegistryEntry | undefined,
    nowMs: number,
  ): RegistryEntry {
    if (known !== undefined && known.registration.generation === registration.generation) {
      this.#unindex(known);
      if (updateEntry(known, registration)) this.#version += 1;
      this.#index(known);
      known.askedAtMs = nowMs;
      if (known.state === "lost") {
        // Its loss has been told already: if it stays silent after this, nobody tells it again.
        known.unheard = true;
        known.unheardUntilMs = nowMs + this.#options.leaseMs;
      }
      return known;
    }
    const entry = makeEntry(registration, nowMs, this.#options.leaseMs);
    // A new start takes the place of the old one, at the end of the list: what it owned is up for grabs.
    this.#remove(registration.id);
    this.#entries.set(registration.id, entry);
    this.#index(entry);
    this.#version += 1;
    return entry;
  }

  #accept(entry: RegistryEntry): void {
    entry.conflicts = [];
    if (entry.state === "lost") this.counts.returned += 1;
    if (entry.state !== "draining") this.#setState(entry, "live");
  }

  #refuse(entry: RegistryEntry, conflicts: readonly CardConflict[], nowMs: number): void {
    if (entry.state !== "refused") entry.refusedAtMs = nowMs;
    if (JSON.stringify(entry.conflicts) !== JSON.stringify(conflicts)) this.#version += 1;
    entry.conflicts = conflicts;
    this.#setState(entry, "refused");
  }

  /** A lost worker is back. Its set may have been taken over meanwhile. */
  #return(entry: RegistryEntry, nowMs: number): void {
    const conflicts = this.#conflictsOf(entry, nowMs);
    if (conflicts.length === 0) this.#accept(entry);
    else this.#refuse(entry, conflicts, nowMs);
  }

  #conflictsOf(entry: RegistryEntry, nowMs: number): readonly CardConflict[] {
    const peers = this.#byModel.get(entry.registration.card.model) ?? new Set();
    return conflictsOf(entry, peers, this.#options, nowMs);
  }

  #setState(entry: RegistryEntry, state: CatalogWorker["state"]): void {
    if (entry.state === state) return;
    entry.state = state;
    this.#version += 1;
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#unindex(entry);
    this.#version += 1;
  }

  #index(entry: RegistryEntry): void {
    const { model } = entry.registration.card;
    const peers = this.#byModel.get(model);
    if (peers === undefined) this.#byModel.set(model, new Set([entry]));
    else peers.add(entry);
  }

  #unindex(entry: RegistryEntry): void {
    const { model } = entry.registration.card;
    const peers = this.#byModel.get(model);
    peers?.delete(entry);
    if (peers?.size === 0) this.#byModel.delete(model);
  }

  #forgetOldestLost(): boolean {
    let oldest: RegistryEntry | undefined;
    for (const entry of this.#entries.values()) {
      if (
        entry.state === "lost" &&
        entry.lostAtMs < (oldest?.lostAtMs ?? Number.POSITIVE_INFINITY)
      ) {
        oldest = entry;
      }
    }
    if (oldest === undefined) return false;
    this.counts.forgotten += 1;
    this.#remove(oldest.registration.id);
    return true;
  }
}
