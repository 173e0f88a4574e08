/** Gives 64-bit hashes small numbers, without a BigInt or a string. Hot path: one look-up a block. */

const firstSlots = 1_024;
/** A lookup that found nothing. */
export const noBlock = -1;

/** A set of hashes, each in two halves of 32 bits. A number is used again after its hash was deleted. */
export class BlockIds {
  /** Open addressing: in pairs, the low half of a hash and its number plus one, or 0 for nothing. */
  #slots = new Uint32Array(2 * firstSlots);
  #mask = firstSlots - 1;
  #low = new Uint32Array(firstSlots / 2);
  #high = new Uint32Array(firstSlots / 2);
  readonly #free: number[] = [];
  #next = 0;
  #size = 0;

  /** Hashes held. */
  get size(): number {
    return this.#size;
  }

  /** The number of a hash, or `noBlock`. */
  find(low: number, high: number): number {
    const slots = this.#slots;
    let at = homeOf(low, high) & this.#mask;
    for (let found = slots[2 * at + 1]!; found !== 0; found = slots[2 * at + 1]!) {
      if (slots[2 * at] === low && this.#high[found - 1] === high) return found - 1;
      at = (at + 1) & this.#mask;
    }
    return noBlock;
  }

  /** Adds a hash that is not held. */
  add(low: number, high: number): number {
    if (2 * (this.#size + 1) > this.#mask + 1) this.#grow();
    const id = this.#free.pop() ?? this.#next++;
    this.#low[id] = low;
    this.#high[id] = high;
    this.#size += 1;
    this.#put(low, high, id);
    return id;
  }

  /** Deletes the hash of a number that is held. */
  delete(id: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let hole = homeOf(this.#low[id]!, this.#high[id]!) & mask;
    while (slots[2 * hole + 1] !== id + 1) hole = (hole + 1) & mask;
    // What comes after the hole moves up, unless that would put it before its home.
    for (let at = (hole + 1) & mask; slots[2 * at + 1] !== 0; at = (at + 1) & mask) {
      const low = slots[2 * at]!;
      const home = homeOf(low, this.#high[slots[2 * at + 1]! - 1]!) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      slots[2 * hole] = low;
      slots[2 * hole + 1] = slots[2 * at + 1]!;
      hole = at;
    }
    slots[2 * hole + 1] = 0;
    this.#free.push(id);
    this.#size -= 1;
  }

  #put(low: number, high: number, id: number): void {
    let at = homeOf(low, high) & this.#mask;
    while (this.#slots[2 * at + 1] !== 0) at = (at + 1) & this.#mask;
    this.#slots[2 * at] = low;
    this.#slots[2 * at + 1] = id + 1;
  }

  #grow(): void {
    const old = this.#slots;
    const size = 2 * (this.#mask + 1);
    this.#slots = new Uint32Array(2 * size);
    this.#mask = size - 1;
    this.#low = grown(this.#low, size / 2);
    this.#high = grown(this.#high, size / 2);
    for (let at = 0; at < old.length; at += 2) {
      const id = old[at + 1]! - 1;
      if (id >= 0) this.#put(old[at]!, this.#high[id]!, id);
    }
  }
}

function homeOf(low: number, high: number): number {
  return low ^ Math.imul(high, 0x9e37_79b1);
}

function grown(old: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const array = new Uint32Array(length);
  array.set(old);
  return array;
}
