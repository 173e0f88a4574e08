import { pack, unpack } from "../codec.ts";
import { ServingError } from "../errors.ts";
import type { WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType, malformed } from "../message-type.ts";

/** Where a block lies, from fast to slow. */
export type KvTier = "device" | "host" | "disk";

/** A change in a worker's cache. Hashes are 8 little-endian bytes a block. Without a `tier` it is the device's. */
export type KvEvent =
  | {
      readonly kind: "stored";
      /** Sequence hash of the block before the first; null at the root. */
      readonly parent: Uint8Array | null;
      readonly blockHashes: Uint8Array;
      readonly sequenceHashes: Uint8Array;
      readonly tier?: KvTier;
    }
  | { readonly kind: "removed"; readonly sequenceHashes: Uint8Array; readonly tier?: KvTier }
  /** Nothing is left on any tier of the rank. */
  | { readonly kind: "cleared" };

/** Tiers as they travel, by number. The device's is left out. */
const tierNames: readonly KvTier[] = ["device", "host", "disk"];

/**
 * The opaque body of a batch: what aggregators relay without opening. Layout: [[0, parent, blockHashes, sequenceHashes, tier?] |
 * [1, sequenceHashes, tier?] | [2], …]; tier: absent is the device, 1 the host, 2 the disk.
 */
export function packKvEvents(events: readonly KvEvent[]): Uint8Array {
  return pack(events.map(writeEvent));
}

/**
 * Opens the body of a batch. Throws `malformed_message`; with `onMalformed` an event that cannot be read is left out and told
 * of instead, so that one of a tier that is not known here does not take the others with it.
 */
export function unpackKvEvents(
  bytes: Uint8Array,
  onMalformed?: (error: ServingError) => void,
): readonly KvEvent[] {
  const wire = unpackBody(bytes);
  if (onMalformed === undefined) return wire.map(readEvent);
  const events: KvEvent[] = [];
  for (const each of wire) {
    try {
      events.push(readEvent(each));
    } catch (error) {
      onMalformed(ServingError.from(error));
    }
  }
  return events;
}

function unpackBody(bytes: Uint8Array): readonly unknown[] {
  let wire: unknown;
  try {
    wire = unpack(bytes);
  } catch {
    throw malformed("kv-events", "events", "not msgpack"); // what the decoder says names nothing of ours
  }
  if (!Array.isArray(wire)) throw malformed("kv-events", "events");
  return wire as readonly unknown[];
}

function writeEvent(event: KvEvent): readonly unknown[] {
  switch (event.kind) {
    case "stored": {
      const fields = [0, event.parent, event.blockHashes, event.sequenceHashes];
      return withTier(fields, event.tier);
    }
    case "removed":
      return withTier([1, event.sequenceHashes], event.tier);
    case "cleared":
      return [2];
  }
}

function withTier(fields: readonly unknown[], tier: KvTier = "device"): readonly unknown[] {
  return tier === "device" ? fields : [...fields, tierNames.indexOf(tier)];
}

function readEvent(wire: unknown): KvEvent {
  if (!Array.isArray(wire)) throw malformed("kv-events", "events");
  const [kind, first, second, third, fourth] = wire as unknown[];
  if (kind === 0 && isParent(first) && isHashes(second) && isHashes(third)) {
    const parent = first ?? null;
    const event = { kind: "stored", parent, blockHashes: second, sequenceHashes: third } as const;
    return fourth === undefined ? event : { ...event, tier: readTier(fourth) };
  }
  if (kind === 1 && isHashes(first)) {
    const event = { kind: "removed", sequenceHashes: first } as const;
    return second === undefined ? event : { ...event, tier: readTier(second) };
  }
  if (kind === 2) return { kind: "cleared" };
  throw malformed("kv-events", "kind");
}

/** A tier that is not known here is never taken for another one. */
function readTier(wire: unknown): KvTier {
  const tier = typeof wire === "number" ? tierNames[wire] : undefined;
  if (tier === undefined) throw malformed("kv-events", "tier", `no tier ${String(wire)}`);
  return tier;
}

/** Whatever is no hash is not taken for the root: blocks in the middle of a prompt would count as its beginning. */
function isParent(wire: unknown): wire is Uint8Array | null | undefined {
  return wire === null || wire === undefined || (isHashes(wire) && wire.byteLength === 8);
}

function isHashes(wire: unknown): wire is Uint8Array {
  return wire instanceof Uint8Array && wire.byteLength % 8 === 0;
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

/**
 * Asks a worker for batches `from` to its newest one, or with `from` null for a dump of all it holds. KvEventAggregator to one
 * worker, on a gap and whenever a follower needs a dump.
 */
export interface GetKvEvents {
  readonly dpRank: number;
  readonly from: number | null;
  /** The `lastSequence` of the dump of which another page is wanted; null for a new dump. */
  readonly dump: number | null;
  /** The page of that dump, from 0. */
  readonly page: number;
}

// v1: [dpRank, from, dump?, page?]
export const GetKvEvents: MessageType<GetKvEvents> = arrayMessage(
  "get-kv-events",
  1,
  ["dpRank", "from", "dump", "page"],
  (ask) => [ask.dpRank, ask.from, ask.dump, ask.page],
  (fields) => ({
    dpRank: fields.count(0),
    from: fields.optional(1, (reader, index) => reader.number(index)),
    dump: fields.optional(2, (reader, index) => reader.count(index)),
    page: fields.optional(3, (reader, index) => reader.count(index)) ?? 0,
  }),
);

/** What an answer about the past holds. `none`: whoever was asked has no answer now; asking again later may help. */
export const kvHistoryKinds = ["batches", "dump", "none"] as const;
/** One of the kinds of an answer. */
export type KvHistoryKind = (typeof kvHistoryKinds)[number];

/**
 * The answer to `get-kv-events` and `get-kv-history`: the batches asked for if the ring still has them all, else a page of a dump
 * that replaces all that is known. A page of a dump that is kept no more is answered by the first page of a new one.
 */
export interface KvHistory {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** The newest batch that the answer covers; 0 if there was none yet. */
  readonly lastSequence: number;
  readonly kind: KvHistoryKind;
  /** `batches`: bodies of consecutive sequences ending at `lastSequence`. `dump`: one body of stored events, parents first over all pages. */
  readonly bodies: readonly Uint8Array[];
  /** Which page of a dump it is, from 0; 0 for batches. */
  readonly page: number;
  /** What to ask for next: a page of the same dump, or batches `from` here; null if this is all. */
  readonly next: number | null;
}

// v1: [workerId, generation, dpRank, lastSequence, kind, bodies, page?, next?]
export const KvHistory: MessageType<KvHistory> = arrayMessage(
  "kv-history",
  1,
  ["workerId", "generation", "dpRank", "lastSequence", "kind", "bodies", "page", "next"],
  (answer) => [
    answer.workerId,
    answer.generation,
    answer.dpRank,
    answer.lastSequence,
    answer.kind,
    answer.bodies,
    answer.page,
    answer.next,
  ],
  (fields) => ({
    workerId: fields.string<WorkerId>(0),
    generation: fields.count(1),
    dpRank: fields.count(2),
    lastSequence: fields.count(3),
    kind: readKind(fields.string(4)),
    bodies: readBodies(fields.array(5)),
    page: fields.optional(6, (reader, index) => reader.count(index)) ?? 0,
    next: fields.optional(7, (reader, index) => reader.count(index)),
  }),
);

function readKind(kind: string): KvHistoryKind {
  const known = kvHistoryKinds.find((each) => each === kind);
  if (known === undefined) throw malformed("kv-history", "kind", `no kind ${kind}`);
  return known;
}

function readBodies(bodies: readonly unknown[]): readonly Uint8Array[] {
  if (bodies.every((body) => body instanceof Uint8Array)) return bodies;
  throw malformed("kv-history", "bodies", "not bytes");
}
