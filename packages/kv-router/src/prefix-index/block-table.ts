import { mixWords } from "./hash-words.ts";
import type { SetId } from "./holder-sets.ts";

/** Hot path: every block of every store, removal and find. Bench: bench/prefix-index/flat-index.bench.ts */

/** The number of a block in the table, from 1; 0 is none. It stays as long as the block does. */
export type BlockId = number;

/** What stands for a block's set of holders while the number is free. */
const freeMark = -1;

// A block's words: low and high half of its hash, set of holders, parent, number of children, the children's ids under
// exclusive or (so the only child is known without a list), and depth with flags. Of a free one: the next free one as parent.
const wordsPerBlock = 7;
const lowAt = 0;
const highAt = 1;
const setAt = 2;
const parentAt = 3;
const childCountAt = 4;
const childIdsAt = 5;
const marksAt = 6;

/** Blocks live in pages, so that growth copies nothing. */
const pageBits = 13;
const blocksPerPage = 1 << pageBits;
const pageMask = blocksPerPage - 1;

/** The directory is cut in segments that grow one by one, so that no growth takes long: 0.3 ms each at 10 M blocks. */
const segments = 1024;
const segmentMask = segments - 1;
/** Growth by half instead of double keeps the memory for a block under 45 bytes at any size. */
const growth = 1.5;
const fullAt = 0.8;
const firstCapacity = 8;
/** 16 bits of the mixed hash choose the place in a segment. */
const largestCapacity = 65_536;

// Marks: 2 bits of recency, two flags, and the depth above them.
const recencyMask = 3;
const branchedFlag = 4;
const copiesFlag = 8;
const depthShift = 4;

/** The highest recency of a block. */
export const hottest = 3;

/** Every block by its hash: a record of seven words each, and a directory of open addressing that finds it. */
export class BlockTable {
  readonly #pages: Int32Array[] = [];
  /** Per segment: pairs of a hash's low half and the block's id; id 0 is an empty place. */
  readonly #directory: Int32Array[] = new Array<Int32Array>(segments).fill(new Int32Array(2));
  readonly #fill = new Int32Array(segments);
  #directoryBytes = 0;
  #firstFree: BlockId = 0;
  #highest: BlockId = 0;
  #size = 0;

  /** Blocks in the table. */
  get size(): number {
    return this.#size;
  }

  /** The highest id ever given. */
  get highest(): BlockId {
    return this.#highest;
  }

  get bytes(): number {
    return this.#pages.length * blocksPerPage * wordsPerBlock * 4 + this.#directoryBytes;
  }

  /** The block of a hash; 0 if there is none. `guess` is looked at first: mostly the one after the block before. */
  find(low: number, high: number, guess: BlockId): BlockId {
    if (guess > 0 && guess <= this.#highest) {
      const page = this.#pages[guess >>> pageBits]!;
      const at = (guess & pageMask) * wordsPerBlock;
      if (page[at] === low && page[at + highAt] === high && page[at + setAt] !== freeMark) {
        return guess;
      }
    }
    const mixed = mixWords(low, high);
    const places = this.#directory[mixed & segmentMask]!;
    const capacity = places.length >>> 1;
    let place = homeOf(mixed, capacity);
    for (;;) {
      const id = places[2 * place + 1]!;
      if (id === 0) return 0;
      if (places[2 * place] === low && this.#word(id, highAt) === high) return id;
      place += 1;
      if (place === capacity) place = 0;
    }
  }

  /** Adds a block that is not there, with no holder and no parent. */
  add(low: number, high: number): BlockId {
    const id = this.#takeId();
    const page = this.#pages[id >>> pageBits]!;
    const at = (id & pageMask) * wordsPerBlock;
    page.fill(0, at, at + wordsPerBlock);
    page[at + lowAt] = low;
    page[at + highAt] = high;
    this.#enter(low, high, id);
    this.#size += 1;
    return id;
  }

  /** Frees a block that has no children. */
  delete(id: BlockId): void {
    this.unlink(id);
    this.#leave(this.#word(id, lowAt), this.#word(id, highAt), id);
    this.#set(id, setAt, freeMark);
    this.#set(id, parentAt, this.#firstFree);
    this.#firstFree = id;
    this.#size -= 1;
  }

  isFree(id: BlockId): boolean {
    return this.#word(id, setAt) === freeMark;
  }

  lowOf(id: BlockId): number {
    return this.#word(id, lowAt);
  }

  highOf(id: BlockId): number {
    return this.#word(id, highAt);
  }

  setOf(id: BlockId): SetId {
    return this.#word(id, setAt);
  }

  putSet(id: BlockId, set: SetId): void {
    this.#set(id, setAt, set);
  }

  parentOf(id: BlockId): BlockId {
    return this.#word(id, parentAt);
  }

  /** Makes a block the child of another; it has no parent yet. */
  link(id: BlockId, parent: BlockId): void {
    this.#set(id, parentAt, parent);
    this.#set(parent, childCountAt, this.#word(parent, childCountAt) + 1);
    this.#set(parent, childIdsAt, this.#word(parent, childIdsAt) ^ id);
    this.putDepth(id, this.depthOf(parent) + 1);
  }

  /** Takes a block away from its parent, if it has one. */
  unlink(id: BlockId): void {
    const parent = this.#word(id, parentAt);
    if (parent === 0) return;
    const children = this.#word(parent, childCountAt) - 1;
    this.#set(parent, childCountAt, children);
    this.#set(parent, childIdsAt, this.#word(parent, childIdsAt) ^ id);
    if (children === 0) {
      this.#set(parent, marksAt, this.#word(parent, marksAt) & ~branchedFlag);
    }
    this.#set(id, parentAt, 0);
  }

  childCountOf(id: BlockId): number {
    return this.#word(id, childCountAt);
  }

  /** The child of a block that has exactly one. */
  onlyChildOf(id: BlockId): BlockId {
    return this.#word(id, childIdsAt);
  }

  /** Blocks before this one in its prompt, as far as it was told. */
  depthOf(id: BlockId): number {
    return this.#word(id, marksAt) >>> depthShift;
  }

  putDepth(id: BlockId, depth: number): void {
    const marks = this.#word(id, marksAt) & ((1 << depthShift) - 1);
    this.#set(id, marksAt, marks | (depth << depthShift));
  }

  /** Whether the block has had two children at once since it last had none. */
  isBranched(id: BlockId): boolean {
    return (this.#word(id, marksAt) & branchedFlag) !== 0;
  }

  markBranched(id: BlockId): void {
    this.#set(id, marksAt, this.#word(id, marksAt) | branchedFlag);
  }

  /** Whether somebody may hold the block more than once on a tier. */
  mayHaveCopies(id: BlockId): boolean {
    return (this.#word(id, marksAt) & copiesFlag) !== 0;
  }

  markCopies(id: BlockId): void {
    this.#set(id, marksAt, this.#word(id, marksAt) | copiesFlag);
  }

  /** How lately the block was of use, 0 to `hottest`. */
  recencyOf(id: BlockId): number {
    return this.#word(id, marksAt) & recencyMask;
  }

  putRecency(id: BlockId, recency: number): void {
    this.#set(id, marksAt, (this.#word(id, marksAt) & ~recencyMask) | recency);
  }

  #word(id: BlockId, word: number): number {
    return this.#pages[id >>> pageBits]![(id & pageMask) * wordsPerBlock + word]!;
  }

  #set(id: BlockId, word: number, value: number): void {
    this.#pages[id >>> pageBits]![(id & pageMask) * wordsPerBlock + word] = value;
  }

  #takeId(): BlockId {
    const free = this.#firstFree;
    if (free !== 0) {
      this.#firstFree = this.#word(free, parentAt);
      return free;
    }
    this.#highest += 1;
    if (this.#highest >>> pageBits >= this.#pages.length) {
      this.#pages.push(new Int32Array(blocksPerPage * wordsPerBlock));
    }
    return this.#highest;
  }

  #enter(low: number, high: number, id: BlockId): void {
    const mixed = mixWords(low, high);
    const segment = mixed & segmentMask;
    const fill = this.#fill[segment]! + 1;
    if (fill > (this.#directory[segment]!.length >>> 1) * fullAt) this.#grow(segment);
    this.#fill[segment] = fill;
    putPair(
      this.#directory[segment]!,
      homeOf(mixed, this.#directory[segment]!.length >>> 1),
      low,
      id,
    );
  }

  #grow(segment: number): void {
    const old = this.#directory[segment]!;
    const capacity = Math.max(firstCapacity, Math.ceil((old.length >>> 1) * growth));
    if (capacity > largestCapacity) throw new RangeError("the index has no room for more blocks");
    const places = new Int32Array(2 * capacity);
    this.#directoryBytes += places.byteLength - (old.length > 2 ? old.byteLength : 0);
    for (let at = 0; at < old.length; at += 2) {
      const id = old[at + 1]!;
      if (id === 0) continue;
      const low = old[at]!;
      putPair(places, homeOf(mixWords(low, this.#word(id, highAt)), capacity), low, id);
    }
    this.#directory[segment] = places;
  }

  /** Takes a pair out, and moves those after it back into the gap. */
  #leave(low: number, high: number, id: BlockId): void {
    const mixed = mixWords(low, high);
    const segment = mixed & segmentMask;
    const places = this.#directory[segment]!;
    const capacity = places.length >>> 1;
    let gap = homeOf(mixed, capacity);
    while (places[2 * gap + 1] !== id) gap = gap + 1 === capacity ? 0 : gap + 1;
    let next = gap;
    for (;;) {
      next = next + 1 === capacity ? 0 : next + 1;
      const moved = places[2 * next + 1]!;
      if (moved === 0) break;
      const home = homeOf(mixWords(places[2 * next]!, this.#word(moved, highAt)), capacity);
      // It may move if its home is not between the gap and where it is.
      const fromHome = next - home + (next < home ? capacity : 0);
      const fromGap = next - gap + (next < gap ? capacity : 0);
      if (fromHome < fromGap) continue;
      places[2 * gap] = places[2 * next]!;
      places[2 * gap + 1] = moved;
      gap = next;
    }
    places[2 * gap + 1] = 0;
    this.#fill[segment]! -= 1;
  }
}

function homeOf(mixed: number, capacity: number): number {
  return Math.imul(mixed >>> 16, capacity) >>> 16;
}

function putPair(places: Int32Array, home: number, low: number, id: BlockId): void {
  const capacity = places.length >>> 1;
  let place = home;
  while (places[2 * place + 1] !== 0) place = place + 1 === capacity ? 0 : place + 1;
  places[2 * place] = low;
  places[2 * place + 1] = id;
}
