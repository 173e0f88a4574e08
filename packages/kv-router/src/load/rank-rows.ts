const bitsPerWord = 32;

/** Sets of ranks, a row of bits each. A row that was freed is given out again. */
export class RankRows {
  #words = 1;
  #bits = new Uint32Array(64);
  readonly #free: number[] = [];
  #next = 0;

  /** Rows in use. */
  get size(): number {
    return this.#next - this.#free.length;
  }

  /** An empty row. */
  open(): number {
    const row = this.#free.pop() ?? this.#next++;
    const end = (row + 1) * this.#words;
    if (end > this.#bits.length) this.#bits = grown(this.#bits, 2 * end);
    return row;
  }

  close(row: number): void {
    this.#bits.fill(0, row * this.#words, (row + 1) * this.#words);
    this.#free.push(row);
  }

  add(row: number, rank: number): void {
    if (rank >= this.#words * bitsPerWord) this.#widen(rank);
    const at = row * this.#words + (rank >>> 5);
    this.#bits[at] = this.#bits[at]! | (1 << (rank & 31));
  }

  delete(row: number, rank: number): void {
    const at = row * this.#words + (rank >>> 5);
    this.#bits[at] = this.#bits[at]! & ~(1 << (rank & 31));
  }

  /** The lowest rank in a row that is not empty. */
  first(row: number): number {
    const start = row * this.#words;
    let word = 0;
    while (this.#bits[start + word] === 0) word += 1;
    return word * bitsPerWord + lowestBit(this.#bits[start + word]!);
  }

  /** Hot path: writes `value` for each rank of a row that is neither in the other row, if there is one, nor `rank` (-1: none). */
  write(row: number, other: number | null, rank: number, target: Uint32Array, value: number): void {
    const bits = this.#bits;
    const start = row * this.#words;
    const otherStart = (other ?? 0) * this.#words;
    for (let word = 0; word < this.#words; word += 1) {
      let left = bits[start + word]!;
      if (other !== null) left &= ~bits[otherStart + word]!;
      if (rank >>> 5 === word) left &= ~(1 << (rank & 31));
      for (; left !== 0; left &= left - 1) {
        target[word * bitsPerWord + lowestBit(left)] = value;
      }
    }
  }

  #widen(rank: number): void {
    const old = this.#bits;
    const oldWords = this.#words;
    let words = oldWords;
    while (rank >= words * bitsPerWord) words *= 2;
    this.#words = words;
    this.#bits = new Uint32Array(Math.max(64, 2 * this.#next * words));
    for (let row = 0; row < this.#next; row += 1) {
      this.#bits.set(old.subarray(row * oldWords, (row + 1) * oldWords), row * words);
    }
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function grown(old: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const array = new Uint32Array(length);
  array.set(old);
  return array;
}
