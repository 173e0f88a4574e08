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

/** Reverses `packIds`. Throws if the bytes are no pairs of ids below `size`. */
export function unpackIds(packed: Uint8Array, size: number): Uint32Array {
  const width = idWidth(size);
  const count = packed.length / width;
  if (!Number.isInteger(count) || count % 2 !== 0) {
    throw new TokenizerFormatError("merges", `${packed.length} bytes are no pairs of ids`);
  }
  const ids = new Uint32Array(count);
  for (let index = 0, at = 0; index < count; index += 1, at += width) {
    const low = packed[at]! | (packed[at + 1]! << 8);
    const id = width === 3 ? low | (packed[at + 2]! << 16) : low;
    if (id >= size) {
      throw new TokenizerFormatError("merges", `${id} is no id of a vocabulary of ${size}`);
    }
    ids[index] = id;
  }
  return ids;
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

/** Reverses `packLengths`. Throws if the lengths do not add up to `total`. */
export function unpackLengths(packed: Uint8Array, total: number): Uint32Array {
  const offsets = new Uint32Array(packed.length + 1);
  let count = 0;
  let sum = 0;
  for (let at = 0; at < packed.length; ) {
    let length = 0;
    let shift = 0;
    let byte: number;
    do {
      byte = packed[at] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      shift += 7;
      at += 1;
    } while (byte >= 0x80);
    sum += length;
    if (sum > total) {
      break;
    }
    count += 1;
    offsets[count] = sum;
  }
  if (sum !== total) {
    throw new TokenizerFormatError("tokenLengths", `do not add up to ${total} bytes`);
  }
  return offsets.slice(0, count + 1);
}
