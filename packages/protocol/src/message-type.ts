import type { z } from "zod";
import { pack, unpack } from "./codec.ts";
import { ServingError } from "./errors.ts";

/** A message: its name, its version, and its codec. Type and value share the name. */
export interface MessageType<T> {
  readonly name: string;
  readonly version: number;
  /** Field names in wire order for hot messages (msgpack arrays); null for maps. */
  readonly layout: readonly string[] | null;
  encode(message: T): Uint8Array;
  /** Throws `malformed_message` naming message and field. */
  decode(bytes: Uint8Array): T;
}

/** A message of whatever type, for those who only read: tables, tools, docs. */
export interface AnyMessage {
  readonly name: string;
  readonly version: number;
  readonly layout: readonly string[] | null;
  decode(bytes: Uint8Array): unknown;
}

/** A cold message that travels as a map and is checked by a schema when it arrives. */
export function schemaMessage<T>(
  name: string,
  version: number,
  schema: z.ZodType<T>,
): MessageType<T> {
  return {
    name,
    version,
    layout: null,
    encode: (message) => pack(message),
    decode: (bytes) => {
      const parsed = schema.safeParse(unpackMessage(name, bytes));
      if (parsed.success) return parsed.data;
      const issue = parsed.error.issues[0];
      throw malformed(name, issue?.path.join(".") ?? "", issue?.message);
    },
  };
}

/** A hot message: an array in a fixed order. `read` gets a checked reader over the fields. */
export function arrayMessage<T>(
  name: string,
  version: number,
  layout: readonly string[],
  write: (message: T) => readonly unknown[],
  read: (fields: FieldReader) => T,
): MessageType<T> {
  return {
    name,
    version,
    layout,
    encode: (message) => pack(write(message)),
    decode: (bytes) => {
      const fields = unpackMessage(name, bytes);
      if (!Array.isArray(fields)) throw malformed(name, "", "not an array");
      return read(new FieldReader(name, layout, fields));
    },
  };
}

/** Reads the fields of an array message and checks their kinds. A missing field reads as null. */
export class FieldReader {
  readonly #name: string;
  readonly #layout: readonly string[];
  readonly #fields: readonly unknown[];

  constructor(name: string, layout: readonly string[], fields: readonly unknown[]) {
    this.#name = name;
    this.#layout = layout;
    this.#fields = fields;
  }

  string<S extends string = string>(index: number): S {
    const value = this.#fields[index];
    if (typeof value !== "string") throw this.#wrong(index, "a string");
    return value as S;
  }

  /** One of few texts. */
  oneOf<S extends string>(index: number, allowed: readonly S[]): S {
    const value = allowed.find((text) => text === this.#fields[index]);
    if (value === undefined) throw this.#wrong(index, `one of ${allowed.join(", ")}`);
    return value;
  }

  number(index: number): number {
    const value = this.#fields[index];
    if (typeof value !== "number") throw this.#wrong(index, "a number");
    return value;
  }

  /** A whole number from 0 to 2^53 − 1: what counts, numbers or tells generations apart. */
  count(index: number): number {
    const value = this.#fields[index];
    if (!isCount(value)) throw this.#wrong(index, "a whole number from 0");
    return value;
  }

  boolean(index: number): boolean {
    const value = this.#fields[index];
    if (typeof value !== "boolean") throw this.#wrong(index, "a boolean");
    return value;
  }

  bytes(index: number): Uint8Array {
    const value = this.#fields[index];
    if (!(value instanceof Uint8Array)) throw this.#wrong(index, "bytes");
    return value;
  }

  array<T = unknown>(index: number): readonly T[] {
    const value = this.#fields[index];
    if (!Array.isArray(value)) throw this.#wrong(index, "an array");
    return value as readonly T[];
  }

  strings<S extends string = string>(index: number): readonly S[] {
    const values = this.array<S>(index);
    for (const value of values) {
      if (typeof value !== "string") throw this.#wrong(index, "an array of strings");
    }
    return values;
  }

  map<T>(index: number): T {
    const value = this.#fields[index];
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.#wrong(index, "a map");
    }
    return value as T;
  }

  /** Every field: for a message that is one list. */
  all<T>(): readonly T[] {
    return this.#fields as readonly T[];
  }

  /** Reads a field with `read` unless it is null or absent. */
  optional<T>(index: number, read: (reader: this, index: number) => T): T | null {
    const value = this.#fields[index];
    return value === null || value === undefined ? null : read(this, index);
  }

  #wrong(index: number, wanted: string): ServingError {
    return malformed(this.#name, this.#layout[index] ?? String(index), `not ${wanted}`);
  }
}

/** Whether a value is a whole number from 0 to 2^53 − 1. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The error of a message that does not have the shape that its version promises. */
export function malformed(message: string, field: string, problem = "wrong shape"): ServingError {
  return new ServingError("malformed_message", {
    message,
    field,
    problem: `${message}.${field}: ${problem}`,
  });
}

function unpackMessage(name: string, bytes: Uint8Array): unknown {
  try {
    return unpack(bytes);
  } catch (error) {
    throw new ServingError(
      "malformed_message",
      { message: name, problem: `${name}: not msgpack` },
      { cause: error },
    );
  }
}
