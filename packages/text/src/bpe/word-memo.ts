// Hot: once per word. Four times faster than no memo on English text. Bench: bench/tokenizer.bench.ts.

import type { IdBuffer } from "./id-buffer.ts";

/** Words longer than this are not remembered: they are rare and rarely come back. In UTF-16 units. */
export const longestRememberedWord = 48;

const slotCount = 2 ** 17;
const mostEntries = (slotCount * 3) / 4;
const arenaLength = 600_000;

/**
 * The ids of words that were tokenized before.
 *
 * Two generations of 2.9 MB each. When the younger one is full the older one is forgotten and they change places; a word
 * found in the older one moves to the younger. So what is used stays and memory is bounded.
 */
export class WordMemo {
  private young = new MemoGeneration();
  private old = new MemoGeneration();

  /** Appends the ids of the word `units[at, at + length)` to `out`, if it is remembered. */
  read(hash: number, units: Uint16Array, at: number, length: number, out: IdBuffer): boolean {
    const before = out.length;
    if (this.young.read(hash, units, at, length, out)) {
      return true;
    }
    if (!this.old.read(hash, units, at, length, out)) {
      return false;
    }
    this.write(hash, units, at, length, out, before);
    return true;
  }

  /** Remembers the ids in `out` from `idsFrom` on for a word that `read` did not find. */
  write(
    hash: number,
    units: Uint16Array,
    at: number,
    length: number,
    out: IdBuffer,
    idsFrom: number,
  ): void {
    if (!this.young.write(hash, units, at, length, out, idsFrom)) {
      const oldest = this.old;
      this.old = this.young;
      oldest.clear();
      this.young = oldest;
      this.young.write(hash, units, at, length, out, idsFrom);
    }
  }
}

/** A hash of the units of a word, 32 bits. */
export function hashWord(units: Uint16Array, at: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = at; index < end; index += 1) {
    hash = Math.imul(hash ^ units[index]!, 0x01000193);
  }
  return hash ^ (hash >>> 15);
}

// An entry in the arena: [hash, length | idCount << 8, units two by two, ids].
class MemoGeneration {
  private readonly slots = new Int32Array(slotCount);
  private readonly arena = new Int32Array(arenaLength);
  /** Entry 0 is never used, so that 0 marks a free slot. */
  private used = 1;
  private entries = 0;

  read(hash: number, units: Uint16Array, at: number, length: number, out: IdBuffer): boolean {
    let slot = hash & (slotCount - 1);
    for (;;) {
      const entry = this.slots[slot]!;
      if (entry === 0) {
        return false;
      }
      if (this.arena[entry] === hash && this.matches(entry, units, at, length)) {
        this.copyIds(entry, length, out);
        return true;
      }
      slot = (slot + 1) & (slotCount - 1);
    }
  }

  write(
    hash: number,
    units: Uint16Array,
    at: number,
    length: number,
    out: IdBuffer,
    idsFrom: number,
  ): boolean {
    const idCount = out.length - idsFrom;
    const size = 2 + ((length + 1) >> 1) + idCount;
    if (this.entries === mostEntries || this.used + size > arenaLength) {
      return false;
    }
    const entry = this.used;
    this.arena[entry] = hash;
    this.arena[entry + 1] = length | (idCount << 8);
    let place = entry + 2;
    for (let index = 0; index < length; index += 2, place += 1) {
      this.arena[place] = unitPair(units, at, index, length);
    }
    for (let index = idsFrom; index < out.length; index += 1, place += 1) {
      this.arena[place] = out.ids[index]!;
    }
    this.used = place;
    this.entries += 1;
    let slot = hash & (slotCount - 1);
    while (this.slots[slot] !== 0) {
      slot = (slot + 1) & (slotCount - 1);
    }
    this.slots[slot] = entry;
    return true;
  }

  clear(): void {
    this.slots.fill(0);
    this.used = 1;
    this.entries = 0;
  }

  private matches(entry: number, units: Uint16Array, at: number, length: number): boolean {
    if ((this.arena[entry + 1]! & 0xff) !== length) {
      return false;
    }
    let place = entry + 2;
    for (let index = 0; index < length; index += 2, place += 1) {
      if (this.arena[place] !== unitPair(units, at, index, length)) {
        return false;
      }
    }
    return true;
  }

  private copyIds(entry: number, length: number, out: IdBuffer): void {
    const count = this.arena[entry + 1]! >>> 8;
    const from = entry + 2 + ((length + 1) >> 1);
    for (let index = 0; index < count; index += 1) {
      out.push(this.arena[from + index]!);
    }
  }
}

function unitPair(units: Uint16Array, at: number, index: number, length: number): number {
  const low = units[at + index]!;
  return index + 1 < length ? low | (units[at + index + 1]! << 16) : low;
}
