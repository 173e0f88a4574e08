import { Decoder, Encoder } from "@msgpack/msgpack";
import { checkShape } from "./check-shape.ts";

/**
 * One encoder and one decoder for the process: making them costs more than most messages.
 * Neither is re-entered: encoding and decoding are synchronous and call nothing of ours.
 */
const encoder = new Encoder({ ignoreUndefined: true });
const decoder = new Decoder();

/** Encodes a plain value as msgpack. The bytes are a copy that the caller may keep. */
export function pack(value: unknown): Uint8Array {
  return encoder.encode(value);
}

/**
 * Decodes one msgpack value. Binary fields are views into `bytes`. Throws on malformed input, before memory is spent on
 * it, and on more than 32 levels.
 */
export function unpack(bytes: Uint8Array): unknown {
  checkShape(bytes);
  return decoder.decode(bytes);
}

/** The little-endian bytes of token ids, 4 each. A view where the platform allows, so do not write to it. */
export function tokensToBytes(tokens: Uint32Array): Uint8Array {
  return new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);
}

/** Token ids from their little-endian bytes; a copy only when the bytes are not aligned to 4. */
export function bytesToTokens(bytes: Uint8Array): Uint32Array {
  if (bytes.byteOffset % 4 === 0) {
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
  }
  // Not `slice`: that of a Node Buffer is a view, as unaligned as this one.
  const copy = new Uint8Array(bytes);
  return new Uint32Array(copy.buffer, 0, copy.byteLength >>> 2);
}
