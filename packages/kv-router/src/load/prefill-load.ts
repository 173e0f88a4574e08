import type { RankSlot } from "../prefix-index/prefix-index.ts";

/** One prompt that a rank is to compute. */
export interface Prefill {
  readonly rank: RankSlot;
  readonly tokens: number;
  /** How long it should take, ms; null or 0 if nobody knows. */
  readonly durationMs: number | null;
}

/**
 * Prompt tokens still to be computed, rank by rank. They fade with time where durations are known: the oldest prefill of a
 * rank is the anchor, from whose start time is counted (`dynamo-semantics` 3.7).
 */
export class PrefillLoad {
  /** By rank. */
  #tokens = new Float64Array(64);
  #unknown = new Uint32Array(64);
  #anchoredMs = new Float64Array(64);
  readonly #anchors: (Prefill | null)[] = [];
  readonly #prefills: Set<Prefill>[] = [];

  /** Makes room for a rank. Must be called before anything is added to it. */
  openRank(rank: RankSlot): void {
    while (this.#prefills.length <= rank) {
      this.#prefills.push(new Set());
      this.#anchors.push(null);
    }
    if (rank < this.#tokens.length) return;
    const length = 2 * (rank + 1);
    const [tokens, unknown, anchoredMs] = [this.#tokens, this.#unknown, this.#anchoredMs];
    this.#tokens = new Float64Array(length);
    this.#unknown = new Uint32Array(length);
    this.#anchoredMs = new Float64Array(length);
    this.#tokens.set(tokens);
    this.#unknown.set(unknown);
    this.#anchoredMs.set(anchoredMs);
  }

  add(prefill: Prefill, nowMs: number): void {
    const { rank, tokens } = prefill;
    this.#prefills[rank]!.add(prefill);
    this.#tokens[rank] = this.#tokens[rank]! + tokens;
    if (!isKnown(prefill)) this.#unknown[rank] = this.#unknown[rank]! + 1;
    if (this.#anchors[rank] === null) this.#anchor(rank, prefill, nowMs);
  }

  /** The prompt is computed, or the request has left. */
  complete(prefill: Prefill, nowMs: number): void {
    const { rank, tokens, durationMs } = prefill;
    const prefills = this.#prefills[rank]!;
    if (!prefills.delete(prefill)) return;
    // Sums that were too large to be exact end with the last of them.
    this.#tokens[rank] = prefills.size === 0 ? 0 : this.#tokens[rank]! - tokens;
    if (!isKnown(prefill)) this.#unknown[rank] = this.#unknown[rank]! - 1;
    if (this.#anchors[rank] === prefill) {
      const [next = null] = prefills;
      this.#anchor(rank, next, nowMs);
    } else if (durationMs !== null) {
      this.#anchoredMs[rank] = Math.min(nowMs, this.#anchoredMs[rank]! + durationMs);
    }
  }

  /** Hot path: once for each candidate of a choice. */
  tokensOf(rank: RankSlot, nowMs: number): number {
    const sum = this.#tokens[rank] ?? 0;
    if (sum === 0) return 0;
    const anchor = this.#anchors[rank]!;
    if (anchor === null || !isKnown(anchor)) return sum;
    const elapsed = Math.max(0, nowMs - this.#anchoredMs[rank]!);
    const { tokens, durationMs } = anchor;
    if (this.#unknown[rank] === 0) {
      return Math.max(0, sum - Math.floor((tokens * elapsed) / durationMs));
    }
    return sum - tokens + Math.max(0, Math.ceil(tokens * (1 - elapsed / durationMs)));
  }

  #anchor(rank: RankSlot, prefill: Prefill | null, nowMs: number): void {
    this.#anchors[rank] = prefill;
    this.#anchoredMs[rank] = nowMs;
  }
}

function isKnown(prefill: Prefill): prefill is Prefill & { durationMs: number } {
  return prefill.durationMs !== null && prefill.durationMs > 0;
}
