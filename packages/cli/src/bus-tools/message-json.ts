import { GenerationWork, KvHandoff, unpackKvEvents } from "@baton/protocol";

/** A value that `JSON.stringify` takes as it is. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Fields that hold 8-byte hashes, and other ids that people compare: shown as hex. */
const hexFields = new Set(["blockHashes", "sequenceHashes", "parent"]);
/** Fields that nobody may read off the bus. */
const secretFields = new Set(["secret"]);
/** Fields whose bytes are another message. */
const nestedFields: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  work: (bytes) => GenerationWork.decode(bytes),
  handoff: (bytes) => KvHandoff.decode(bytes),
  events: (bytes) => (bytes.byteLength === 0 ? [] : unpackKvEvents(bytes)),
};

/**
 * A decoded message as plain JSON: hashes as hex (8-byte ones as a list), token ids as numbers, other bytes as base64,
 * nested messages opened, secrets as `"redacted"`.
 */
export function messageJson(value: unknown, field = ""): Json {
  if (secretFields.has(field) && value !== null) return "redacted";
  if (value === null || value === undefined) return null;
  if (value instanceof Uint32Array) return [...value];
  if (value instanceof Uint8Array) return bytesJson(value, field);
  if (value instanceof Error) return errorJson(value);
  if (Array.isArray(value)) return value.map((entry) => messageJson(entry, field));
  if (typeof value === "object") {
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, messageJson(entry, key)]),
    );
  }
  return typeof value === "bigint" ? String(value) : (value as Json);
}

function bytesJson(bytes: Uint8Array, field: string): Json {
  if (hexFields.has(field)) return hashesJson(bytes);
  const open = nestedFields[field];
  if (open === undefined) return Buffer.from(bytes).toString("base64");
  try {
    return messageJson(open(bytes));
  } catch {
    return Buffer.from(bytes).toString("base64");
  }
}

function hashesJson(bytes: Uint8Array): Json {
  const hashes: string[] = [];
  for (let at = 0; at < bytes.byteLength; at += 8) {
    hashes.push(Buffer.from(bytes.subarray(at, at + 8)).toString("hex"));
  }
  return hashes;
}

function errorJson(error: Error): Json {
  const { code, details } = error as { readonly code?: string; readonly details?: unknown };
  return { code: code ?? "internal", message: error.message, details: messageJson(details) };
}
