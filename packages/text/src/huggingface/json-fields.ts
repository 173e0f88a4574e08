import { TokenizerFormatError } from "../tokenizer-format-error.ts";

/** A parsed JSON object. */
export type JsonObject = { readonly [key: string]: unknown };

/** Whether a value is a JSON object, not an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A JSON object from its text, or as it is if it is parsed already. Throws `TokenizerFormatError` naming the file. */
export function readJsonObject(value: unknown, file: string): JsonObject {
  let parsed = value;
  if (typeof value === "string") {
    try {
      parsed = JSON.parse(value);
    } catch (cause) {
      throw new TokenizerFormatError(file, `not JSON (${String(cause)})`);
    }
  }
  return objectAt(parsed, file);
}

/** The value as an object. Throws `TokenizerFormatError` naming the field. */
export function objectAt(value: unknown, field: string): JsonObject {
  if (isObject(value)) {
    return value;
  }
  throw new TokenizerFormatError(field, "not an object");
}

/** The value as an array. Throws `TokenizerFormatError` naming the field. */
export function arrayAt(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) {
    return value as unknown[];
  }
  throw new TokenizerFormatError(field, "not an array");
}

/** The value as a string. Throws `TokenizerFormatError` naming the field. */
export function stringAt(value: unknown, field: string): string {
  if (typeof value === "string") {
    return value;
  }
  throw new TokenizerFormatError(field, "not a string");
}

/** The value as a token id. Throws `TokenizerFormatError` naming the field. */
export function idAt(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 24) {
    return value;
  }
  throw new TokenizerFormatError(field, `${JSON.stringify(value)} is no token id`);
}

/** Throws `TokenizerFormatError` naming the field. */
export function refuse(field: string, value: unknown): never {
  throw new TokenizerFormatError(field, `${JSON.stringify(value)} is not supported`);
}

/** A field that must be absent, null or one of some harmless values. */
export function expectNeutral(
  object: JsonObject,
  path: string,
  key: string,
  neutral: readonly unknown[],
): void {
  const value = object[key];
  if (value !== undefined && value !== null && !neutral.includes(value)) {
    refuse(`${path}.${key}`, value);
  }
}
