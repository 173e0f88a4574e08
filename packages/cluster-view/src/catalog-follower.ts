import type { ActorHeartbeat, Catalog } from "@baton/protocol";

/** Which state of a catalog is spoken of. */
export type CatalogMark = Pick<Catalog, "epoch" | "revision" | "complete">;

/** Silence, in heartbeat intervals, after which the Discovery that is followed may be left for another. */
const patienceIntervals = 2.5;

/**
 * Decides which catalog a follower believes. It stays with one epoch while that Discovery is heard, so that two of
 * them do not make it flap, and keeps the last complete catalog until another complete one can take its place.
 */
export class CatalogFollower {
  #held: Catalog | null = null;
  #source: string | null = null;
  /** Until then the source counts as there, silent or not. */
  #trustUntilMs = 0;
  readonly #patienceMs: number;

  /** `heartbeatMs`: the interval of Discovery's heartbeats until one says otherwise. */
  constructor(heartbeatMs: number) {
    this.#patienceMs = heartbeatMs * patienceIntervals;
  }

  /** What is believed; null before the first catalog. */
  get held(): Catalog | null {
    return this.#held;
  }

  /** Whether a complete catalog has been seen. */
  get synced(): boolean {
    return this.#held?.complete === true;
  }

  /** Takes a catalog if it is better than the one held, and says whether it did. */
  offer(catalog: Catalog, nowMs: number): boolean {
    if (!this.#isBetter(catalog, nowMs)) return false;
    if (this.#held?.epoch !== catalog.epoch) this.#source = null;
    this.#held = catalog;
    this.#trust(nowMs + this.#patienceMs);
    return true;
  }

  /** Hears a Discovery's heartbeat. True if its catalog is one that should be asked for. */
  hear(heartbeat: ActorHeartbeat, nowMs: number): boolean {
    const { catalog, id, generation, state } = heartbeat;
    if (id === this.#source && (state === "stopped" || generation > this.#epoch)) this.#distrust();
    if (catalog === null || state === "stopped") return false;
    const held = this.#held;
    if (catalog.epoch === held?.epoch) {
      this.#source = id;
      // Nobody is ahead of whoever counts the revisions: that one was made up, and would keep out all that come.
      if (catalog.revision < held.revision) {
        this.#held = { ...held, revision: catalog.revision - 1 };
      }
      this.#trust(nowMs + Math.max(this.#patienceMs, heartbeat.intervalMs * patienceIntervals));
    }
    return this.#isBetter(catalog, nowMs);
  }

  /** Nothing could be heard for a while: silence before `untilMs` is nobody's fault. */
  pardon(untilMs: number): void {
    if (this.#held !== null) this.#trust(untilMs);
  }

  get #epoch(): number {
    return this.#held?.epoch ?? Number.POSITIVE_INFINITY;
  }

  #isBetter(offered: CatalogMark, nowMs: number): boolean {
    const held = this.#held;
    if (held === null) return true;
    if (offered.epoch === held.epoch) {
      const isNewer = offered.revision > held.revision;
      return isNewer || (offered.revision === held.revision && offered.complete && !held.complete);
    }
    if (held.complete && !offered.complete) return false;
    return (offered.complete && !held.complete) || nowMs > this.#trustUntilMs;
  }

  #trust(untilMs: number): void {
    this.#trustUntilMs = Math.max(this.#trustUntilMs, untilMs);
  }

  #distrust(): void {
    this.#source = null;
    this.#trustUntilMs = 0;
  }
}
