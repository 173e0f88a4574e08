import { type KvEvent, type KvFeed, type KvHistory, packKvEvents, workerId } from "@baton/protocol";
import {
  createRadixTree,
  defaultFeedApplierOptions,
  FeedApplier,
  type FeedApplierOptions,
  RankSlots,
} from "../../src/index.ts";

/** The 8 bytes of the hashes of blocks. */
export function hashes(...blocks: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(8 * blocks.length);
  const view = new DataView(bytes.buffer);
  blocks.forEach((block, at) => {
    view.setUint32(8 * at, block, true);
  });
  return bytes;
}

function blocksIn(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 8 }, (_, at) => view.getUint32(8 * at, true));
}

/** A run of blocks, the first the child of `parent`. */
export function stored(parent: number | null, ...blocks: readonly number[]): KvEvent {
  const sequenceHashes = hashes(...blocks);
  return {
    kind: "stored",
    parent: parent === null ? null : hashes(parent),
    blockHashes: sequenceHashes,
    sequenceHashes,
  };
}

export function removed(...blocks: readonly number[]): KvEvent {
  return { kind: "removed", sequenceHashes: hashes(...blocks) };
}

/** `first` to `last`, one after the other. */
export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

const noBytes = new Uint8Array();

/** An applier with a reference index, fed as the feed of epoch 1 unless told otherwise. */
export function applierWith(
  options: Partial<FeedApplierOptions> & { readonly unwanted?: Set<string> } = {},
) {
  const index = createRadixTree();
  const slots = new RankSlots();
  const malformed: string[] = [];
  const { unwanted = new Set<string>(), ...limits } = options;
  const applier = new FeedApplier(
    { ...defaultFeedApplierOptions, ...limits },
    {
      index,
      slots,
      wants: (id) => !unwanted.has(id),
      onMalformed: (rank, error) => malformed.push(`${rank.workerId} ${error.code}`),
    },
  );
  const clock = { nowMs: 0 };
  let feedSequence = 0;
  const entry = (kind: KvFeed["kind"], sequence: number, changes: Partial<KvFeed> = {}): KvFeed => {
    feedSequence = changes.feedSequence ?? feedSequence + 1;
    return {
      epoch: 1,
      kind,
      workerId: workerId("w"),
      generation: 1,
      dpRank: 0,
      sequence,
      events: noBytes,
      ...changes,
      feedSequence,
    };
  };
  const batch = (sequence: number, events: readonly KvEvent[], changes: Partial<KvFeed> = {}) =>
    applier.take(
      entry("batch", sequence, { events: packKvEvents(events), ...changes }),
      clock.nowMs,
    );
  const say = (kind: KvFeed["kind"], sequence = 0, changes: Partial<KvFeed> = {}) =>
    applier.take(entry(kind, sequence, changes), clock.nowMs);
  /** Takes the positions of workers by their newest batch; null for one that the feed has not told of. */
  const positions = (
    sequences: Readonly<Record<string, number | null>>,
    changes: { readonly epoch?: number; readonly feedSequence?: number } = {},
  ) => {
    applier.askPositions();
    applier.takePositions(
      {
        epoch: 1,
        feedSequence,
        ranks: Object.entries(sequences).map(([id, sequence]) => {
          const [name = "", generation = "1"] = id.split("/");
          return {
            workerId: workerId(name),
            generation: Number(generation),
            dpRank: 0,
            sequence,
          };
        }),
        ...changes,
      },
      clock.nowMs,
    );
  };
  const asks = () => applier.takeAsks(clock.nowMs);
  /** Takes the one ask that is due, and answers it. */
  const answer = (history: Partial<KvHistory> | null) => {
    const ask = asks()[0];
    if (ask === undefined) throw new Error("nothing is asked for");
    const { workerId: id, generation, dpRank } = ask.question;
    const about = { workerId: id, generation, dpRank, page: 0, next: null };
    const full = { ...about, lastSequence: 0, kind: "none", bodies: [], ...history } as KvHistory;
    applier.takeHistory(ask, history === null ? null : full, clock.nowMs);
    return ask.question;
  };
  const dump = (lastSequence: number, ...events: readonly KvEvent[]): Partial<KvHistory> => ({
    kind: "dump",
    lastSequence,
    bodies: [packKvEvents(events)],
  });
  const batches = (
    lastSequence: number,
    ...bodies: readonly (readonly KvEvent[])[]
  ): Partial<KvHistory> => ({ kind: "batches", lastSequence, bodies: bodies.map(packKvEvents) });
  const work = (maxBlocks = 1_000) => {
    for (let step = 0; !applier.step(maxBlocks); step++) {
      if (step > 10_000) throw new Error("there is no end to it");
    }
  };
  const held = (id = "w", generation = 1): number[] | null => {
    const slot = slots.slotOf({ workerId: workerId(id), generation, dpRank: 0 });
    return slot === undefined
      ? null
      : blocksIn(index.blocksOf(slot, "device")).sort((one, other) => one - other);
  };
  return {
    answer,
    applier,
    asks,
    batch,
    batches,
    clock,
    dump,
    held,
    index,
    malformed,
    positions,
    say,
    slots,
    unwanted,
    work,
  };
}
