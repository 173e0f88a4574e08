import { fromWireError, type ServingError, toWireError, type WireError } from "../errors.ts";
import type { WorkerId } from "../ids.ts";
import { arrayMessage, isCount, type MessageType, malformed } from "../message-type.ts";
import type { FinishReason } from "./frontend-facts-v1.ts";
import { readLogprobs, type TokenLogprobs, writeLogprobs } from "./output-token.ts";

/** How one choice ended: a reason, or an error. */
export interface StreamEnd {
  readonly reason: FinishReason | "error";
  /** Set when the reason is `error`. */
  readonly error: ServingError | null;
  /** Prompt tokens that the worker's own cache held (the generating worker's word). */
  readonly cachedTokens: number;
}

/** The new tokens of one choice of one request. */
export interface FrameEntry {
  readonly stream: number;
  /** 0 to n − 1. */
  readonly choice: number;
  /** Index of the first of `tokens` in the choice's output, so that a repeat is harmless. */
  readonly offset: number;
  readonly tokens: readonly number[];
  /** As long as `tokens`, or null if the request did not ask. */
  readonly logprobs: readonly (TokenLogprobs | null)[] | null;
  /** Set with the last entry of the choice. */
  readonly end: StreamEnd | null;
  /** One entry per prompt token after the first. With the first entry of a prompt that was computed where it is decoded, if asked for. */
  readonly promptLogprobs?: readonly (TokenLogprobs | null)[];
  /**
   * Prompt tokens that the worker's own cache held, if any. With the first entry of a prompt that was computed where it is
   * decoded: a stop text may end the request before its last entry comes.
   */
  readonly cachedTokens?: number;
}

/**
 * One engine step's tokens for one Frontend. Worker to Frontend, once a step. `sequence` counts from 0 per
 * (worker generation, Frontend generation) without gaps.
 */
export interface TokenFrame {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly frontendGeneration: number;
  readonly sequence: number;
  readonly entries: readonly FrameEntry[];
}

type WireEntry = readonly [
  stream: number,
  choice: number,
  offset: number,
  tokens: readonly number[],
  logprobs?: unknown,
  end?: unknown,
  promptLogprobs?: unknown,
  cachedTokens?: unknown,
];

// v1: [workerId, generation, frontendGeneration, sequence, entries]
//     entry: [stream, choice, offset, [id, …], logprobs?, end?, promptLogprobs?, cachedTokens?]
//     end: [reason, cachedTokens, error?]
export const TokenFrame: MessageType<TokenFrame> = arrayMessage(
  "token-frame",
  1,
  ["workerId", "generation", "frontendGeneration", "sequence", "entries"],
  (frame) => [
    frame.workerId,
    frame.generation,
    frame.frontendGeneration,
    frame.sequence,
    frame.entries.map(writeEntry),
  ],
  (fields) => ({
    workerId: fields.string<WorkerId>(0),
    generation: fields.count(1),
    frontendGeneration: fields.count(2),
    sequence: fields.count(3),
    entries: fields.array<WireEntry>(4).map(readEntry),
  }),
);

function writeEntry(entry: FrameEntry): WireEntry {
  const { cachedTokens, choice, end, offset, promptLogprobs, stream, tokens } = entry;
  if (promptLogprobs === undefined && cachedTokens === undefined) {
    if (end !== null) return [stream, choice, offset, tokens, writeAll(entry), writeEnd(end)];
    if (entry.logprobs === null) return [stream, choice, offset, tokens];
    return [stream, choice, offset, tokens, writeAll(entry)];
  }
  const ofPrompt = promptLogprobs?.map(writeLogprobs) ?? null;
  const wireEnd = end === null ? null : writeEnd(end);
  const wire = [stream, choice, offset, tokens, writeAll(entry), wireEnd, ofPrompt] as const;
  return cachedTokens === undefined ? wire : [...wire, cachedTokens];
}

function writeAll(entry: FrameEntry): unknown {
  return entry.logprobs === null ? null : entry.logprobs.map(writeLogprobs);
}

function writeEnd(end: StreamEnd): unknown {
  return end.error === null
    ? [end.reason, end.cachedTokens]
    : [end.reason, end.cachedTokens, toWireError(end.error)];
}

function readEntry(wire: WireEntry): FrameEntry {
  if (!Array.isArray(wire) || ![wire[0], wire[1], wire[2]].every(isCount)) {
    throw malformed("token-frame", "entries");
  }
  if (!Array.isArray(wire[3]) || !wire[3].every(isCount)) throw malformed("token-frame", "tokens");
  const logprobs = wire[4];
  const entry: FrameEntry = {
    stream: wire[0],
    choice: wire[1],
    offset: wire[2],
    tokens: wire[3],
    logprobs: Array.isArray(logprobs) ? logprobs.map(readLogprobs) : null,
    end: readEnd(wire[5]),
  };
  return wire.length > 6 ? { ...entry, ...readPromptFacts(wire[6], wire[7]) } : entry;
}

function readPromptFacts(
  logprobs: unknown,
  cachedTokens: unknown,
): Pick<FrameEntry, "promptLogprobs" | "cachedTokens"> {
  return {
    ...(Array.isArray(logprobs) ? { promptLogprobs: logprobs.map(readLogprobs) } : {}),
    ...(isCount(cachedTokens) ? { cachedTokens } : {}),
  };
}

function readEnd(wire: unknown): StreamEnd | null {
  if (wire === null || wire === undefined) return null;
  if (!Array.isArray(wire) || typeof wire[1] !== "number") throw malformed("token-frame", "end");
  const error = wire[2] as WireError | undefined;
  return {
    reason: wire[0] as StreamEnd["reason"],
    cachedTokens: wire[1],
    error: error === undefined || error === null ? null : fromWireError(error),
  };
}

/** Asks a worker for frames that were lost on the way, by sequence number, both ends included. */
export interface GetFrames {
  readonly frontendId: string;
  readonly frontendGeneration: number;
  readonly from: number;
  readonly to: number;
}

// v1: [frontendId, frontendGeneration, from, to]
export const GetFrames: MessageType<GetFrames> = arrayMessage(
  "get-frames",
  1,
  ["frontendId", "frontendGeneration", "from", "to"],
  (ask) => [ask.frontendId, ask.frontendGeneration, ask.from, ask.to],
  (fields) => ({
    frontendId: fields.string(0),
    frontendGeneration: fields.count(1),
    from: fields.count(2),
    to: fields.count(3),
  }),
);

/** The frames that a worker's ring still holds of those asked for, in order, each as `token-frame` bytes. */
export interface MissingFrames {
  readonly frames: readonly Uint8Array[];
}

// v1: [[frame bytes, …]]
export const MissingFrames: MessageType<MissingFrames> = arrayMessage(
  "missing-frames",
  1,
  ["frames"],
  (answer) => [answer.frames],
  (fields) => ({ frames: fields.array<Uint8Array>(0) }),
);
