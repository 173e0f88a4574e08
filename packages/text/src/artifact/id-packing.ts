import { TokenizerFormatError } from "../tokenizer-format-error.ts";

const largestVocabulary = 2 ** 24;

/** Packs ids of a vocabulary of `size`, little endian: 2 bytes each up to 65,536, else 3. */
export function packIds(ids: Uint32Array, size: number): Uint8Array {
  if (size > largestVocabulary) {
    throw new TokenizerFormatError("tokenBytes", `more than ${largestVocabulary} tokens`);
  }
  const width = idWidth(size);
  const packed = new Uint8Array(ids.length * width);
  for (let index = 0, at = 0; index < ids.length; index += 1, at += width) {
    const id = ids[index]!;
    packed[at] = id;
    packed[at + 1] = id >>> 8;
    if (width === 3) {
      packed[at + 2] = id >>> 16;
    }
  }
  return packed;
}

/** Reverses `packIds` in steps. Throws if the bytes are no pairs of ids below `size`. */
export class UnpackIds {
  readonly ids: Uint32Array;
  private readonly packed: Uint8Array;
  private readonly size: number;
  private readonly width: 2 | 3;
  private done = 0;

  constructor(packed: Uint8Array, size: number) {
    this.packed = packed;
    this.size = size;
    this.width = idWidth(size);
    const count = packed.length / this.width;
    if (!Number.isInteger(count) || count % 2 !== 0) {
      throw new TokenizerFormatError("merges", `${packed.length} bytes are no pairs of ids`);
    }
    this.ids = new Uint32Array(count);
  }

  /** Reads at most `maxItems` ids. True when all are read. */
  step(maxItems: number): boolean {
    const { packed, size, width, ids } = this;
    const to = Math.min(this.done + maxItems, ids.length);
    for (let index = this.done, at = index * width; index < to; index += 1, at += width) {
      const low = packed[at]! | (packed[at + 1]! << 8);
      const id = width === 3 ? low | (packed[at + 2]! << 16) : low;
      if (id >= size) {
        throw new TokenizerFormatError("merges", `${id} is no id of a vocabulary of ${size}`);
      }
      ids[index] = id;
    }
    this.done = to;
    return to === ids.length;
  }
}

function idWidth(size: number): 2 | 3 {
  return size <= 65_536 ? 2 : 3;
}

/** Packs the lengths between offsets as LEB128. */
export function packLengths(offsets: Uint32Array): Uint8Array {
  const packed: number[] = [];
  for (let index = 1; index < offsets.length; index += 1) {
    let length = offsets[index]! - offsets[index - 1]!;
    while (length >= 0x80) {
      packed.push((length & 0x7f) | 0x80);
      length >>>= 7;
    }
    packed.push(length);
  }
  return Uint8Array.from(packed);
}

/** Reverses `packLengths` in steps. Throws if the lengths do not add up to `total`. */
export class UnpackLengths {
  private readonly packed: Uint8Array;
  private readonly total: number;
  private readonly offsetsSoFar: Uint32Array;
  private at = 0;
  private count = 0;
  private sum = 0;

  constructor(packed: Uint8Array, total: number) {
    this.packed = packed;
    this.total = total;
    this.offsetsSoFar = new Uint32Array(packed.length + 1);
  }

  /** The offsets, once `step` has returned true. */
  get offsets(): Uint32Array {
    return this.offsetsSoFar.subarray(0, this.count + 1);
  }

  /** Reads at most `maxItems` lengths. True when all are read. */
  step(maxItems: number): boolean {
    for (let left = maxItems; left > 0 && this.at < this.packed.length; left -= 1) {
      this.sum += this.readLength();
      if (this.sum > this.total) {
        break;
      }
      this.count += 1;
      this.offsetsSoFar[this.count] = this.sum;
    }
    const isDone = this.at >= this.packed.length;
    if (this.sum > this.total || (isDone && this.sum !== this.total)) {
      throw new TokenizerFormatError("tokenLengths", `do not add up to ${this.total} bytes`);
    }
    return isDone;
  }

  private readLength(): number {
    let length = 0;
    let shift = 0;
    let byte: number;
    do {
      byte = this.packed[this.at] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      shift += 7;
      this.at += 1;
    } while (byte >= 0x80);
    return length;
  }
}
