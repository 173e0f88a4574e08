import type { HandoffId, RequestId } from "../ids.ts";
import { arrayMessage, type FieldReader, type MessageType } from "../message-type.ts";
import {
  requestHeadLength as at,
  type RequestHead,
  readHead,
  requestHeadLayout,
  writeHead,
} from "./request-head.ts";
import type { RoutingConstraints } from "./routing-rules.ts";

/** What every piece of work for a worker carries. */
interface WorkerCommand extends RequestHead {
  /** The generation that was chosen; a worker of another one refuses with `worker_lost`. */
  readonly generation: number;
  readonly dpRank: number;
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
  /** `generation-work` bytes. */
  readonly work: Uint8Array;
  readonly traceparent: string | null;
}

/** Computes a prompt's KV and its first token, and stages the KV. PrefillRouter to one worker, once a request. */
export interface Prefill extends WorkerCommand {
  /** Derived from the chosen worker's topology; the worker returns them to the Frontend. */
  readonly decodeConstraints: RoutingConstraints | null;
}

/** Fetches a staged KV and generates from it. DecodeRouter to one worker, once a request. */
export interface Decode extends WorkerCommand {
  /** `kv-handoff` bytes. */
  readonly handoff: Uint8Array;
}

/** Computes prompt and output in one place: aggregated and decode-only serving. DecodeRouter to one worker. */
export type Generate = WorkerCommand;

const commandLayout = [
  ...requestHeadLayout,
  "generation",
  "dpRank",
  "blockHashes",
  "sequenceHashes",
  "work",
  "traceparent",
] as const;

// v1: [requestId, frontendId, frontendGeneration, stream, generation, dpRank, blockHashes, sequenceHashes, work,
//      traceparent, decodeConstraints]
export const Prefill: MessageType<Prefill> = arrayMessage(
  "prefill",
  1,
  [...commandLayout, "decodeConstraints"],
  (command) => [...writeCommand(command), command.decodeConstraints],
  (fields) => ({
    ...readCommand(fields),
    decodeConstraints: fields.optional(at + 6, (reader, index) =>
      reader.map<RoutingConstraints>(index),
    ),
  }),
);

// v1: as prefill without decodeConstraints, then [handoff]
export const Decode: MessageType<Decode> = arrayMessage(
  "decode",
  1,
  [...commandLayout, "handoff"],
  (command) => [...writeCommand(command), command.handoff],
  (fields) => ({ ...readCommand(fields), handoff: fields.bytes(at + 6) }),
);

// v1: as prefill without decodeConstraints
export const Generate: MessageType<Generate> = arrayMessage(
  "generate",
  1,
  commandLayout,
  writeCommand,
  readCommand,
);

function writeCommand(command: WorkerCommand): readonly unknown[] {
  return [
    ...writeHead(command),
    command.generation,
    command.dpRank,
    command.blockHashes,
    command.sequenceHashes,
    command.work,
    command.traceparent,
  ];
}

function readCommand(fields: FieldReader): WorkerCommand {
  return {
    ...readHead(fields),
    generation: fields.count(at),
    dpRank: fields.count(at + 1),
    blockHashes: fields.bytes(at + 2),
    sequenceHashes: fields.bytes(at + 3),
    work: fields.bytes(at + 4),
    traceparent: fields.optional(at + 5, (reader, index) => reader.string(index)),
  };
}

/**
 * Ends requests wherever they are in a worker: queued, running, staged. Frontend to one worker or to all of a
 * model. A worker remembers the ids for some seconds, since an abort may overtake its dispatch.
 */
export interface Abort {
  readonly requestIds: readonly RequestId[];
  /** Why, for logs: an error code. */
  readonly reason: string;
}

// v1: [requestIds, reason]
export const Abort: MessageType<Abort> = arrayMessage(
  "abort",
  1,
  ["requestIds", "reason"],
  (abort) => [abort.requestIds, abort.reason],
  (fields) => ({ requestIds: fields.strings<RequestId>(0), reason: fields.string(1) }),
);

/** Frees one staged KV that nobody will fetch. Frontend to the prefill worker. */
export interface Release {
  readonly handoffId: HandoffId;
  readonly requestId: RequestId;
}

// v1: [handoffId, requestId]
export const Release: MessageType<Release> = handoffMessage("release");

/** Begins the lease of a staged KV anew, because its decode request still waits. Frontend to the prefill worker. */
export type Extend = Release;

// v1: [handoffId, requestId]
export const Extend: MessageType<Extend> = handoffMessage("extend");

function handoffMessage(name: string): MessageType<Release> {
  return arrayMessage(
    name,
    1,
    ["handoffId", "requestId"],
    (message) => [message.handoffId, message.requestId],
    (fields) => ({
      handoffId: fields.string<HandoffId>(0),
      requestId: fields.string<RequestId>(1),
    }),
  );
}
