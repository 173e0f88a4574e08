import {
  bytesToTokens,
  type HandoffId,
  pack,
  ServingError,
  tokensToBytes,
  unpack,
} from "@baton/protocol";
import type { PartId } from "../kv-mover.ts";
import { encodeFrame, frameKind, transferVersion } from "./frame.ts";

/** What a puller sends first. */
export interface PullAsk {
  readonly handoffId: HandoffId;
  readonly secret: Uint8Array;
  /** Full blocks, in the order in which they are wanted; the tail comes last. */
  readonly blocks: Uint32Array;
  readonly tail: boolean;
}

/** Splits parts into blocks and tail. Throws `internal` unless a tail is last. */
export function askFor(
  handoffId: HandoffId,
  secret: Uint8Array,
  parts: readonly PartId[],
): PullAsk {
  const tail = parts.at(-1) === "tail";
  const count = tail ? parts.length - 1 : parts.length;
  const blocks = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const part = parts[i];
    if (typeof part !== "number") {
      throw new ServingError("internal", { problem: "the tail is not the last part" });
    }
    blocks[i] = part;
  }
  return { handoffId, secret, blocks, tail };
}

/** The `pull` frame. */
export function encodeAsk(ask: PullAsk): Buffer {
  const body = pack([
    transferVersion,
    ask.handoffId,
    ask.secret,
    tokensToBytes(ask.blocks),
    ask.tail,
  ]);
  return encodeFrame(frameKind.pull, body);
}

/** Reads a `pull` frame. Throws `version_mismatch` or `malformed_message`. */
export function decodeAsk(body: Uint8Array): PullAsk {
  const fields = unpackArray(body);
  const [version, handoffId, secret, blocks, tail] = fields;
  if (version !== transferVersion) {
    throw new ServingError("version_mismatch", { message: "kv pull", version: String(version) });
  }
  if (
    typeof handoffId !== "string" ||
    !(secret instanceof Uint8Array) ||
    !(blocks instanceof Uint8Array) ||
    blocks.length % 4 !== 0 ||
    typeof tail !== "boolean"
  ) {
    throw malformedAsk();
  }
  // Copies, since the body does not outlive the call. `slice` of a Buffer would be a view.
  return {
    handoffId: handoffId as HandoffId,
    secret: new Uint8Array(secret),
    blocks: bytesToTokens(new Uint8Array(blocks)),
    tail,
  };
}

function unpackArray(body: Uint8Array): readonly unknown[] {
  try {
    const fields = unpack(body);
    if (Array.isArray(fields)) return fields;
  } catch (error) {
    throw malformedAsk(error);
  }
  throw malformedAsk();
}

function malformedAsk(cause?: unknown): ServingError {
  return new ServingError("malformed_message", { message: "kv pull" }, { cause });
}
