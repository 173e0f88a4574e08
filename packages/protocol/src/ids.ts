import { createHash } from "node:crypto";
import { ServingError } from "./errors.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** A deployment's name as its users write it: any well-formed Unicode, 1 to 300 characters. */
export type NamespaceName = Branded<"NamespaceName">;
/** A model's name as its users write it: any well-formed Unicode, 1 to 300 characters. */
export type ModelName = Branded<"ModelName">;
/** Names one actor on the bus: 1 to 64 of `A-Z a-z 0-9 _ -`, one token of a subject. */
export type ActorId = Branded<"ActorId">;
/** The actor id of a worker. */
export type WorkerId = ActorId;
/** Our own id of a request, one token of a subject. A client's `x-request-id` is kept apart. */
export type RequestId = Branded<"RequestId">;
/** A router's claim on a worker's capacity. It is the id of the request that it was made for. */
export type BookingId = RequestId;
/** One staged KV cache on a prefill worker. */
export type HandoffId = Branded<"HandoffId">;

const maxNameLength = 300;
/** An id that may stand in a subject. Schemas of what others send check by it: an id of theirs becomes part of our subjects. */
export const tokenPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Checks a namespace's name. Throws `config_invalid` if it is empty, too long or not well-formed. */
export function namespaceName(text: string): NamespaceName {
  return checkedName(text, "namespace") as NamespaceName;
}

/** Checks a model's name. Throws `config_invalid` if it is empty, too long or not well-formed. */
export function modelName(text: string): ModelName {
  return checkedName(text, "model") as ModelName;
}

/** Checks an actor's id. Throws `config_invalid` unless it is one subject token. */
export function actorId(text: string): ActorId {
  return checkedToken(text, "actor id") as ActorId;
}

/** Checks a worker's id. Throws `config_invalid` unless it is one subject token. */
export function workerId(text: string): WorkerId {
  return checkedToken(text, "worker id") as WorkerId;
}

/** Checks a request's id. Throws `config_invalid` unless it is one subject token. */
export function requestId(text: string): RequestId {
  return checkedToken(text, "request id") as RequestId;
}

/** Checks a handoff's id. Throws `config_invalid` unless it is one subject token. */
export function handoffId(text: string): HandoffId {
  return checkedToken(text, "handoff id") as HandoffId;
}

function checkedName(text: string, what: string): string {
  if (text.length === 0 || text.length > maxNameLength || !text.isWellFormed()) {
    throw new ServingError("config_invalid", {
      problem: `${what} name must be 1 to ${maxNameLength} characters of well-formed Unicode`,
    });
  }
  return text;
}

function checkedToken(text: string, what: string): string {
  if (!tokenPattern.test(text)) {
    throw new ServingError("config_invalid", {
      problem: `${what} must be 1 to 64 of A-Z a-z 0-9 _ -`,
    });
  }
  return text;
}

const base32 = "abcdefghijklmnopqrstuvwxyz234567";
const slugLength = 24;

/**
 * The subject token of a name: a readable part of at most 24 characters, then 80 bits of the SHA-256 of the
 * name's UTF-8 bytes in base 32. No name breaks a subject and no two names share a token.
 */
export function nameToken(name: NamespaceName | ModelName): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, slugLength)
    .replace(/-+$/, "");
  const digest = createHash("sha256").update(name, "utf8").digest();
  return `${slug === "" ? "x" : slug}-${toBase32(digest.subarray(0, 10))}`;
}

/** Lowercase base 32 (RFC 4648 alphabet, no padding) of bytes. */
export function toBase32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += base32[(held >>> bits) & 31];
    }
  }
  return bits > 0 ? text + base32[(held << (5 - bits)) & 31] : text;
}
