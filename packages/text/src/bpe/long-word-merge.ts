import type { IdBuffer } from "./id-buffer.ts";
import type { MergeTable } from "./merge-table.ts";
import { RankHeap } from "./rank-heap.ts";
import { unknownByte } from "./unknown-byte.ts";

const none = -1;
/** Entering a symbol, or putting one in order, costs about an eighth of merging a pair. */
const entriesPerPair = 8;

/**
 * Merges the symbols of one long word by rank: a linked list of symbols and a heap of pairs.
 *
 * About 0.45 µs a symbol, so a word of a million characters must be merged in steps.
 */
export class LongWordMerge {
  private readonly merges: MergeTable;
  private readonly ids: Int32Array;
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  /** Rank of the pair that begins at a symbol; `none` if it does not merge or the symbol is gone. */
  private readonly ranks: Int32Array;
  private readonly heap: RankHeap;
  /** How many symbols are linked and ranked. */
  private entered = 0;
  /** The symbol that is written next. */
  private written: number;

  /** `symbols` begins with the ids of the word's `count` bytes. It is kept and written to. */
  constructor(merges: MergeTable, symbols: Int32Array, count: number) {
    this.merges = merges;
    this.ids = symbols.subarray(0, count);
    this.next = new Int32Array(count);
    this.previous = new Int32Array(count);
    this.ranks = new Int32Array(count);
    this.heap = new RankHeap(count);
    this.written = count === 0 ? none : 0;
  }

  /** Merges at most `maxPairs` pairs, after as much work on entering the symbols. True when nothing is left to merge. */
  step(maxPairs: number): boolean {
    const maxEntries = maxPairs * entriesPerPair;
    if (!this.enter(maxEntries) || !this.heap.build(maxEntries)) {
      return false;
    }
    for (let taken = 0; taken < maxPairs; taken += 1) {
      if (!this.heap.pop()) {
        return true;
      }
      const at = this.heap.poppedPosition;
      if (this.ranks[at] === this.heap.poppedRank) {
        this.merge(at);
      }
    }
    return this.heap.size === 0;
  }

  /** Appends at most `maxIds` more of the ids that remain. True when all are appended. */
  write(maxIds: number, out: IdBuffer): boolean {
    let at = this.written;
    for (let left = maxIds; left > 0 && at !== none; left -= 1, at = this.next[at]!) {
      if (this.ids[at] !== unknownByte) {
        out.push(this.ids[at]!);
      }
    }
    this.written = at;
    return at === none;
  }

  private enter(maxEntries: number): boolean {
    const { ids, merges } = this;
    const count = ids.length;
    const to = Math.min(this.entered + maxEntries, count);
    for (let at = this.entered; at < to; at += 1) {
      const right = at + 1 < count ? at + 1 : none;
      const place = right === none ? none : merges.find(ids[at]!, ids[right]!);
      this.previous[at] = at - 1;
      this.next[at] = right;
      this.ranks[at] = place === none ? none : merges.rankAt(place);
      if (place !== none) {
        this.heap.append(this.ranks[at]!, at);
      }
    }
    this.entered = to;
    return to === count;
  }

  private merge(at: number): void {
    const right = this.next[at]!;
    const place = this.merges.find(this.ids[at]!, this.ids[right]!);
    this.ids[at] = this.merges.idAt(place);
    const after = this.next[right]!;
    this.next[at] = after;
    this.ranks[right] = none;
    if (after !== none) {
      this.previous[after] = at;
    }
    this.rankPair(at);
    const before = this.previous[at]!;
    if (before !== none) {
      this.rankPair(before);
    }
  }

  private rankPair(at: number): void {
    const right = this.next[at]!;
    const place = right === none ? none : this.merges.find(this.ids[at]!, this.ids[right]!);
    this.ranks[at] = place === none ? none : this.merges.rankAt(place);
    if (place !== none) {
      this.heap.push(this.ranks[at]!, at);
    }
  }
}
