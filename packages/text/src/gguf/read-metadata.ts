import { decodeUtf8 } from "../stream/decode-utf8.ts";
import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import { GgufCursor } from "./gguf-cursor.ts";

const magic = 0x46554747;
const stringType = 8;
const arrayType = 9;
/** No model has nearly as many: more is a broken file, not one to read on in. */
const mostKeys = 100_000;

/** An array in the metadata: its values stay where they are. */
export interface GgufArray {
  readonly type: number;
  readonly count: number;
  /** Where the first value begins. */
  readonly at: number;
}

/** One value of the metadata. */
export type GgufValue = number | boolean | string | GgufArray;

/** The metadata at the beginning of a GGUF file. */
export class GgufMetadata {
  readonly values: ReadonlyMap<string, GgufValue>;
  /** How many bytes of the file it takes. */
  readonly byteLength: number;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array, values: ReadonlyMap<string, GgufValue>, byteLength: number) {
    this.bytes = bytes;
    this.values = values;
    this.byteLength = byteLength;
  }

  /** A value that must be a string. */
  string(key: string): string | undefined {
    const value = this.values.get(key);
    if (value !== undefined && typeof value !== "string") {
      throw new TokenizerFormatError(key, "not a string");
    }
    return value;
  }

  /** A value that must be a number. */
  number(key: string): number | undefined {
    const value = this.values.get(key);
    if (value !== undefined && typeof value !== "number") {
      throw new TokenizerFormatError(key, "not a number");
    }
    return value;
  }

  boolean(key: string): boolean | undefined {
    const value = this.values.get(key);
    if (value !== undefined && typeof value !== "boolean") {
      throw new TokenizerFormatError(key, "not a boolean");
    }
    return value;
  }

  /** Calls `visit` with the place of each string of an array. False if there is no such array. */
  visitStrings(key: string, visit: (index: number, from: number, to: number) => void): boolean {
    const array = this.array(key);
    if (array === undefined) {
      return false;
    }
    if (array.type !== stringType) {
      throw new TokenizerFormatError(key, "not an array of strings");
    }
    const cursor = new GgufCursor(this.bytes);
    cursor.at = array.at;
    for (let index = 0; index < array.count; index += 1) {
      const length = cursor.size();
      const from = cursor.take(length);
      visit(index, from, from + length);
    }
    return true;
  }

  /** The numbers of an array. */
  numbers(key: string): readonly number[] | undefined {
    const array = this.array(key);
    if (array === undefined) {
      return undefined;
    }
    const cursor = new GgufCursor(this.bytes);
    cursor.at = array.at;
    return Array.from({ length: array.count }, () => Number(cursor.scalar(array.type)));
  }

  private array(key: string): GgufArray | undefined {
    const value = this.values.get(key);
    if (value !== undefined && typeof value !== "object") {
      throw new TokenizerFormatError(key, "not an array");
    }
    return value;
  }
}

/**
 * Reads the metadata of a GGUF file, version 2 or 3, from its first bytes.
 *
 * Throws `NeedMoreBytes` if it does not end within them and `TokenizerFormatError` if they are no such file.
 */
export function readMetadata(bytes: Uint8Array): GgufMetadata {
  const cursor = new GgufCursor(bytes);
  if (cursor.u32() !== magic) {
    throw new TokenizerFormatError("gguf.magic", "not a GGUF file");
  }
  const version = cursor.u32();
  if (version !== 2 && version !== 3) {
    throw new TokenizerFormatError("gguf.version", `${version} is not supported, only 2 and 3`);
  }
  cursor.take(8);
  const count = cursor.size();
  if (count > mostKeys) {
    throw new TokenizerFormatError("gguf.metadata", `${count} keys`);
  }
  const values = new Map<string, GgufValue>();
  for (let index = 0; index < count; index += 1) {
    const key = readString(cursor);
    values.set(key, readValue(cursor, cursor.u32()));
  }
  return new GgufMetadata(bytes, values, cursor.at);
}

function readString(cursor: GgufCursor): string {
  const length = cursor.size();
  const from = cursor.take(length);
  return decodeUtf8(cursor.bytes.subarray(from, from + length), length).text;
}

function readValue(cursor: GgufCursor, type: number): GgufValue {
  if (type === stringType) {
    return readString(cursor);
  }
  return type === arrayType ? skipArray(cursor) : cursor.scalar(type);
}

function skipArray(cursor: GgufCursor): GgufArray {
  const type = cursor.u32();
  const count = cursor.size();
  const at = cursor.at;
  if (type === stringType) {
    for (let index = 0; index < count; index += 1) {
      cursor.take(cursor.size());
    }
  } else if (count > 0) {
    cursor.scalar(type);
    cursor.take((cursor.at - at) * (count - 1));
  }
  return { type, count, at };
}
