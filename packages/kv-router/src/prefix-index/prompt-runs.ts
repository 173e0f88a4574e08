import type { BlockId, BlockTable } from "./block-table.ts";
import { highWord, lowWord } from "./hash-words.ts";
import type { SetId } from "./holder-sets.ts";

/**
 * Hot path, once per request: cuts a prompt into runs of blocks that have the same holders. Budget 50 µs for 512 blocks at 64
 * workers and 1 M blocks. Bench: bench/prefix-index/flat-index.bench.ts
 */
export class PromptRuns {
  readonly #blocks: BlockTable;
  /** Of each run: where it ends, and its set. It starts where the one before ends. */
  ends: Int32Array = new Int32Array(64);
  sets: Int32Array = new Int32Array(64);
  length = 0;
  /** The last block of the prompt that was seen to be held; 0 if none was. */
  deepest: BlockId = 0;
  // Blocks that were looked at ahead: their places, ids and sets.
  readonly #places = new Int32Array(64);
  readonly #ids = new Int32Array(64);
  readonly #aheadSets = new Int32Array(64);

  constructor(blocks: BlockTable) {
    this.#blocks = blocks;
  }

  /** Looks at every block, up to the first that nobody holds. */
  walk(hashes: Uint8Array): void {
    this.length = 0;
    this.deepest = 0;
    const count = hashes.length >>> 3;
    let set: SetId = 0;
    for (let place = 0; place < count; place += 1) {
      const guess = this.deepest === 0 ? 0 : this.deepest + 1;
      const id = this.#find(hashes, place, guess);
      const next = id === 0 ? 0 : this.#blocks.setOf(id);
      if (next !== set && place > 0) this.#close(place, set);
      set = next;
      if (next === 0) return;
      this.deepest = id;
    }
    if (count > 0) this.#close(count, set);
  }

  /**
   * Looks at some blocks only: if every holder that has a block has the blocks before it, then between two blocks with the
   * same holders all have the same. False if a block does not lie where the prompt has it, and then only `walk` can tell.
   */
  jump(hashes: Uint8Array): boolean {
    this.length = 0;
    this.deepest = 0;
    const count = hashes.length >>> 3;
    if (count === 0) return true;
    if (!this.#lookAhead(hashes, 0, 0, 0, 0)) return false;
    if (this.#aheadSets[0] === 0) return true;
    return this.#split(hashes, count, this.#ids[0]!, this.#aheadSets[0]!);
  }

  /** Halves what lies between two blocks with different holders until they are neighbours, from left to right. */
  #split(hashes: Uint8Array, count: number, firstId: BlockId, firstSet: SetId): boolean {
    let place = 0;
    let id = firstId;
    let set = firstSet;
    if (!this.#lookAhead(hashes, 0, count - 1, id + count - 1, 0)) return false;
    for (let top = 0; top >= 0; ) {
      const right = this.#places[top]!;
      const rightSet = this.#aheadSets[top]!;
      if (rightSet !== set && right > place + 1) {
        const middle = (place + right) >>> 1;
        const fromRight = this.#ids[top]! - right + middle;
        top += 1;
        if (!this.#lookAhead(hashes, top, middle, id + middle - place, fromRight)) return false;
        continue;
      }
      if (rightSet !== set) this.#close(right, set);
      if (rightSet === 0) {
        this.deepest = id;
        return true;
      }
      place = right;
      id = this.#ids[top]!;
      set = rightSet;
      top -= 1;
    }
    this.deepest = id;
    this.#close(count, set);
    return true;
  }

  /** Looks at one block. Blocks that came together lie together, so its id is guessed from those of its neighbours. */
  #lookAhead(
    hashes: Uint8Array,
    top: number,
    place: number,
    fromLeft: BlockId,
    fromRight: BlockId,
  ): boolean {
    const low = lowWord(hashes, place << 3);
    const high = highWord(hashes, place << 3);
    const id = this.#blocks.isAt(fromLeft, low, high)
      ? fromLeft
      : this.#blocks.find(low, high, fromRight);
    this.#places[top] = place;
    this.#ids[top] = id;
    this.#aheadSets[top] = id === 0 ? 0 : this.#blocks.setOf(id);
    return id === 0 || this.#blocks.depthOf(id) === place;
  }

  #find(hashes: Uint8Array, place: number, guess: BlockId): BlockId {
    const at = place << 3;
    return this.#blocks.find(lowWord(hashes, at), highWord(hashes, at), guess);
  }

  #close(end: number, set: SetId): void {
    if (this.length === this.ends.length) {
      this.ends = doubled(this.ends);
      this.sets = doubled(this.sets);
    }
    this.ends[this.length] = end;
    this.sets[this.length] = set;
    this.length += 1;
  }
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(array.length * 2);
  longer.set(array);
  return longer;
}
