const hashSeed = 0x811c9dc5;
const hashPrime = 0x01000193;

/** Finds a token by its bytes: an open-addressed table over the bytes that an artifact holds. */
export class TokenByteTable {
  /** The bytes of the longest token entered. */
  longest = 0;
  private readonly bytes: Uint8Array;
  private readonly offsets: Uint32Array;
  /** One more than the id, 0 where a slot is free. */
  private readonly slots: Int32Array;
  private readonly mask: number;

  constructor(tokenBytes: Uint8Array, tokenOffsets: Uint32Array) {
    this.bytes = tokenBytes;
    this.offsets = tokenOffsets;
    let capacity = 512;
    while (capacity < tokenOffsets.length * 2) {
      capacity *= 2;
    }
    this.slots = new Int32Array(capacity);
    this.mask = capacity - 1;
  }

  /** Enters a token. Of tokens with the same bytes the first one entered is found. */
  insert(id: number): void {
    const from = this.offsets[id]!;
    const to = this.offsets[id + 1]!;
    if (from === to) {
      return;
    }
    let slot = mix(hashBytes(hashSeed, this.bytes, from, to)) & this.mask;
    while (this.slots[slot] !== 0) {
      if (this.holdsJoined(this.slots[slot]! - 1, this.bytes, from, to, 0, 0)) {
        return;
      }
      slot = (slot + 1) & this.mask;
    }
    this.slots[slot] = id + 1;
    this.longest = Math.max(this.longest, to - from);
  }

  /** The token that is exactly `source[from, to)`; -1 if there is none. */
  find(source: Uint8Array, from: number, to: number): number {
    let slot = mix(hashBytes(hashSeed, source, from, to)) & this.mask;
    while (this.slots[slot] !== 0) {
      const id = this.slots[slot]! - 1;
      if (this.holdsJoined(id, source, from, to, 0, 0)) {
        return id;
      }
      slot = (slot + 1) & this.mask;
    }
    return -1;
  }

  /** The token that is the bytes of two tokens one after the other; -1 if there is none. */
  findJoined(left: number, right: number): number {
    const leftFrom = this.offsets[left]!;
    const leftTo = this.offsets[left + 1]!;
    const rightFrom = this.offsets[right]!;
    const rightTo = this.offsets[right + 1]!;
    const hash = hashBytes(
      hashBytes(hashSeed, this.bytes, leftFrom, leftTo),
      this.bytes,
      rightFrom,
      rightTo,
    );
    let slot = mix(hash) & this.mask;
    while (this.slots[slot] !== 0) {
      const id = this.slots[slot]! - 1;
      if (this.holdsJoined(id, this.bytes, leftFrom, leftTo, rightFrom, rightTo)) {
        return id;
      }
      slot = (slot + 1) & this.mask;
    }
    return -1;
  }

  private holdsJoined(
    id: number,
    source: Uint8Array,
    leftFrom: number,
    leftTo: number,
    rightFrom: number,
    rightTo: number,
  ): boolean {
    let at = this.offsets[id]!;
    if (this.offsets[id + 1]! - at !== leftTo - leftFrom + rightTo - rightFrom) {
      return false;
    }
    for (let index = leftFrom; index < leftTo; index += 1, at += 1) {
      if (this.bytes[at] !== source[index]) {
        return false;
      }
    }
    for (let index = rightFrom; index < rightTo; index += 1, at += 1) {
      if (this.bytes[at] !== source[index]) {
        return false;
      }
    }
    return true;
  }
}

function hashBytes(seed: number, bytes: Uint8Array, from: number, to: number): number {
  let hash = seed;
  for (let at = from; at < to; at += 1) {
    hash = Math.imul(hash ^ bytes[at]!, hashPrime);
  }
  return hash;
}

function mix(hash: number): number {
  return hash ^ (hash >>> 15);
}
