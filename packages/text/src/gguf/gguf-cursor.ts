import { TokenizerFormatError } from "../tokenizer-format-error.ts";

/** Thrown inside the reader when the bytes end too early; callers get it as a result. */
export class NeedMoreBytes extends Error {
  readonly atLeastBytes: number;

  constructor(atLeastBytes: number) {
    super(`at least ${atLeastBytes} bytes are needed`);
    this.name = "NeedMoreBytes";
    this.atLeastBytes = atLeastBytes;
  }
}

/** Reads little-endian values from the beginning of a GGUF file. */
export class GgufCursor {
  readonly bytes: Uint8Array;
  at = 0;
  private readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Moves on by `length` bytes and returns where they begin. Throws `NeedMoreBytes` if they are not there. */
  take(length: number): number {
    const from = this.at;
    const to = from + length;
    if (!Number.isSafeInteger(to)) {
      throw new TokenizerFormatError("gguf", `a length of ${length} at ${from}`);
    }
    if (to > this.bytes.length) {
      throw new NeedMoreBytes(to);
    }
    this.at = to;
    return from;
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  /** A 64-bit length or count. */
  size(): number {
    const low = this.u32();
    return this.u32() * 2 ** 32 + low;
  }

  /** A scalar of one of GGUF's types. 64-bit integers above 2^53 lose their last digits. */
  scalar(type: number): number | boolean {
    const view = this.view;
    switch (type) {
      case 0:
        return view.getUint8(this.take(1));
      case 1:
        return view.getInt8(this.take(1));
      case 2:
        return view.getUint16(this.take(2), true);
      case 3:
        return view.getInt16(this.take(2), true);
      case 4:
        return this.u32();
      case 5:
        return view.getInt32(this.take(4), true);
      case 6:
        return view.getFloat32(this.take(4), true);
      case 7:
        return view.getUint8(this.take(1)) !== 0;
      case 10:
        return Number(view.getBigUint64(this.take(8), true));
      case 11:
        return Number(view.getBigInt64(this.take(8), true));
      case 12:
        return view.getFloat64(this.take(8), true);
      default:
        throw new TokenizerFormatError("gguf", `a value of type ${type}`);
    }
  }
}
