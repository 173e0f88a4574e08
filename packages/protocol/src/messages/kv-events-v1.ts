import { pack, unpack } from "../codec.ts";
import type { WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType, malformed } from "../message-type.ts";

/** A change in a worker's cache. Hashes are 8 little-endian bytes a block. */
export type KvEvent =
  | {
      readonly kind: "stored";
      /** Sequence hash of the block before the first; null at the root. */
      readonly parent: Uint8Array | null;
      readonly blockHashes: Uint8Array;
      readonly sequenceHashes: Uint8Array;
    }
  | { readonly kind: "removed"; readonly sequenceHashes: Uint8Array }
  | { readonly kind: "cleared" };

/** The opaque body of a batch: what aggregators relay without opening. Layout: [[0, parent, blockHashes, sequenceHashes] | [1, sequenceHashes] | [2], …]. */
export function packKvEvents(events: readonly KvEvent[]): Uint8Array {
  return pack(events.map(writeEvent));
}

/** Opens the body of a batch. Throws `malformed_message`. */
export function unpackKvEvents(bytes: Uint8Array): readonly KvEvent[] {
  const wire = unpack(bytes);
  if (!Array.isArray(wire)) throw malformed("kv-events", "events");
  return wire.map(readEvent);
}

function writeEvent(event: KvEvent): readonly unknown[] {
  switch (event.kind) {
    case "stored":
      return [0, event.parent, event.blockHashes, event.sequenceHashes];
    case "removed":
      return [1, event.sequenceHashes];
    case "cleared":
      return [2];
  }
}

function readEvent(wire: unknown): KvEvent {
  if (!Array.isArray(wire)) throw malformed("kv-events", "events");
  const [kind, first, second, third] = wire as unknown[];
  if (kind === 0 && second instanceof Uint8Array && third instanceof Uint8Array) {
    const parent = first instanceof Uint8Array ? first : null;
    return { kind: "stored", parent, blockHashes: second, sequenceHashes: third };
  }
  if (kind === 1 && first instanceof Uint8Array) return { kind: "removed", sequenceHashes: first };
  if (kind === 2) return { kind: "cleared" };
  throw malformed("kv-events", "kind");
}

/**
 * A batch of one rank's cache changes. Worker to KvEventAggregator, once an engine step at most. `sequence` counts
 * batches from 1 per (generation, rank) without gaps.
 */
export interface KvEvents {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  readonly sequence: number;
  /** `packKvEvents` bytes. */
  readonly events: Uint8Array;
}

// v1: [workerId, generation, dpRank, sequence, events]
export const KvEvents: MessageType<KvEvents> = arrayMessage(
  "kv-events",
  1,
  ["workerId", "generation", "dpRank", "sequence", "events"],
  (batch) => [batch.workerId, batch.generation, batch.dpRank, batch.sequence, batch.events],
  (fields) => ({
    workerId: fields.string<WorkerId>(0),
    generation: fields.count(1),
    dpRank: fields.count(2),
    sequence: fields.count(3),
    events: fields.bytes(4),
  }),
);

/** Asks a worker for batches `from` to its newest one; `from` null asks for a dump of all it holds. */
export interface GetKvEvents {
  readonly dpRank: number;
  readonly from: number | null;
}

// v1: [dpRank, from]
export const GetKvEvents: MessageType<GetKvEvents> = arrayMessage(
  "get-kv-events",
  1,
  ["dpRank", "from"],
  (ask) => [ask.dpRank, ask.from],
  (fields) => ({
    dpRank: fields.count(0),
    from: fields.optional(1, (reader, index) => reader.number(index)),
  }),
);

/** The answer: the batches asked for if the ring still has them all, else a dump that replaces all that is known. */
export interface KvHistory {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** The newest batch that the answer covers; 0 if there was none yet. */
  readonly lastSequence: number;
  readonly kind: "batches" | "dump";
  /** `batches`: bodies of consecutive sequences ending at `lastSequence`. `dump`: one body of stored events, parents first. */
  readonly bodies: readonly Uint8Array[];
}

// v1: [workerId, generation, dpRank, lastSequence, kind, bodies]
export const KvHistory: MessageType<KvHistory> = arrayMessage(
  "kv-history",
  1,
  ["workerId", "generation", "dpRank", "lastSequence", "kind", "bodies"],
  (answer) => [
    answer.workerId,
    answer.generation,
    answer.dpRank,
    answer.lastSequence,
    answer.kind,
    answer.bodies,
  ],
  (fields) => ({
    workerId: fields.string<WorkerId>(0),
    generation: fields.count(1),
    dpRank: fields.count(2),
    lastSequence: fields.number(3),
    kind: fields.string<"batches" | "dump">(4),
    bodies: fields.array<Uint8Array>(5),
  }),
);
