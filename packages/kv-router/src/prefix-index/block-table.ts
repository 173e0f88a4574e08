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
const pageBits = 12;
const blocksPerPage = 1 << pageBits;
const pageMask = blocksPerPage - 1;

/** The directory is cut in segments that grow one by one, so that no growth takes long. */
const segmentBits = 7;
const segments = 1 << segmentBits;
const segmentMask = segments - 1;
/** Growth by half instead of double keeps the memory for a block under 45 bytes at any size; by less takes a fifth more time. */
const growth = 1.5;
const fullAt = 0.8;
const firstCapacity = 8;

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
  /** Per segment: pairs of a mixed hash and the block's id; id 0 is an empty place. */
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
    if (this.isAt(guess, low, high)) return guess;
    const mixed = mixWords(low, high);
    const places = this.#directory[mixed & segmentMask]!;
    const capacity = places.length >>> 1;
    let place = homeOf(mixed, capacity);
    for (;;) {
      const id = places[2 * place + 1]!;
      if (id === 0) return 0;
      if (places[2 * place] === mixed && this.#isOf(id, low, high)) return id;
      place += 1;
      if (place === capacity) place = 0;
    }
  }

  /** Whether an id, any number, is that of a hash. */
  isAt(id: BlockId, low: number, high: number): boolean {
    if (id <= 0 || id > this.#highest) return false;
    const page = this.#pages[id >>> pageBits]!;
    const at = (id & pageMask) * wordsPerBlock;
    return page[at] === low && page[at + highAt] === high && page[at + setAt] !== freeMark;
  }

  /** Adds a block that is not there, with no holder, as a child of `parent` (0: of none). */
  add(low: number, high: number, parent: BlockId): BlockId {
    const id = this.#takeId();
    const page = this.#pages[id >>> pageBits]!;
    const at = (id & pageMask) * wordsPerBlock;
    page[at + lowAt] = low;
    page[at + highAt] = high;
    page[at + setAt] = 0;
    page[at + parentAt] = parent;
    page[at + childCountAt] = 0;
    page[at + childIdsAt] = 0;
    page[at + marksAt] = 0;
    if (parent !== 0) {
      const depth = this.#addChild(parent, id) + 1;
      page[at + marksAt] = depth << depthShift;
    }
    this.#enter(mixWords(low, high), id);
    this.#size += 1;
    return id;
  }

  /** Frees a block that has no children. Returns what its parent was. */
  delete(id: BlockId): BlockId {
    const page = this.#pages[id >>> pageBits]!;
    const at = (id & pageMask) * wordsPerBlock;
    this.#leave(mixWords(page[at + lowAt]!, page[at + highAt]!), id);
    const parent = page[at + parentAt]!;
    if (parent !== 0) this.#removeChild(parent, id);
    page[at + setAt] = freeMark;
    page[at + parentAt] = this.#firstFree;
    this.#firstFree = id;
    this.#size -= 1;
    return parent;
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
    this.putDepth(id, this.#addChild(parent, id) + 1);
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

  /** Returns the parent's depth. */
  #addChild(parent: BlockId, id: BlockId): number {
    const page = this.#pages[parent >>> pageBits]!;
    const at = (parent & pageMask) * wordsPerBlock;
    page[at + childCountAt]! += 1;
    page[at + childIdsAt]! ^= id;
    return page[at + marksAt]! >>> depthShift;
  }

  #removeChild(parent: BlockId, id: BlockId): void {
    const page = this.#pages[parent >>> pageBits]!;
    const at = (parent & pageMask) * wordsPerBlock;
    const children = page[at + childCountAt]! - 1;
    page[at + childCountAt] = children;
    page[at + childIdsAt]! ^= id;
    if (children === 0) page[at + marksAt]! &= ~branchedFlag;
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

  #isOf(id: BlockId, low: number, high: number): boolean {
    const page = this.#pages[id >>> pageBits]!;
    const at = (id & pageMask) * wordsPerBlock;
    return page[at + lowAt] === low && page[at + highAt] === high;
  }

  #enter(mixed: number, id: BlockId): void {
    const segment = mixed & segmentMask;
    const fill = this.#fill[segment]! + 1;
    this.#fill[segment] = fill;
    if (fill > (this.#directory[segment]!.length >>> 1) * fullAt) this.#grow(segment);
    putPair(this.#directory[segment]!, mixed, id);
  }

  #grow(segment: number): void {
    const old = this.#directory[segment]!;
    const capacity = Math.max(firstCapacity, Math.ceil((old.length >>> 1) * growth));
    const places = new Int32Array(2 * capacity);
    this.#directoryBytes += places.byteLength - (old.length > 2 ? old.byteLength : 0);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] !== 0) putPair(places, old[at]!, old[at + 1]!);
    }
    this.#directory[segment] = places;
  }

  /** Takes a pair out, and moves those after it back into the gap. */
  #leave(mixed: number, id: BlockId): void {
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
      const home = homeOf(places[2 * next]!, capacity);
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

/** Spreads the bits that did not choose the segment evenly over any capacity. */
function homeOf(mixed: number, capacity: number): number {
  return ((mixed >>> segmentBits) * capacity * 2 ** (segmentBits - 32)) | 0;
}

function putPair(places: Int32Array, mixed: number, id: BlockId): void {
  const capacity = places.length >>> 1;
  let place = homeOf(mixed, capacity);
  while (places[2 * place + 1] !== 0) place = place + 1 === capacity ? 0 : place + 1;
  places[2 * place] = mixed;
  places[2 * place + 1] = id;
}
