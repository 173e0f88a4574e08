import { type KvEvent, type KvFeed, packKvEvents, type WorkerId, workerId } from "@baton/protocol";
import { bench, describe } from "vitest";
import {
  createFlatIndex,
  defaultFeedApplierOptions,
  FeedApplier,
  RankSlots,
} from "../../src/index.ts";

const workers = 16;
const runBlocks = 32;
const runsHeld = 512;
const runs = 2 * runsHeld;
const batchesPerRound = 1_000;

/** The hashes of a run that no other has. */
function hashesOf(worker: number, run: number): Uint8Array {
  const words = new Uint32Array(2 * runBlocks);
  for (let at = 0; at < runBlocks; at++) {
    const block = (worker * runs + run) * runBlocks + at + 1;
    words[2 * at] = Math.imul(block, 0x9e3779b1);
    words[2 * at + 1] = Math.imul(block, 0x85ebca6b) ^ block;
  }
  return new Uint8Array(words.buffer);
}

function bodyOf(worker: number, run: number, isFull: boolean): Uint8Array {
  const sequenceHashes = hashesOf(worker, run);
  const events: KvEvent[] = [
    { kind: "stored", parent: null, blockHashes: sequenceHashes, sequenceHashes },
  ];
  const evicted = hashesOf(worker, (run + runs - runsHeld) % runs);
  if (isFull) events.push({ kind: "removed", sequenceHashes: evicted });
  return packKvEvents(events);
}

/** Sixteen full workers of 16,384 blocks that take in a run of 32 blocks and evict another with each batch. */
class Stream {
  readonly applier: FeedApplier;
  readonly #bodies = Array.from({ length: workers }, (_, worker) =>
    Array.from({ length: runs }, (_run, run) => bodyOf(worker, run, true)),
  );
  readonly #ids: readonly WorkerId[] = Array.from({ length: workers }, (_, at) =>
    workerId(`w${at}`),
  );
  #sent = 0;

  constructor() {
    const index = createFlatIndex();
    this.applier = new FeedApplier(defaultFeedApplierOptions, {
      index,
      slots: new RankSlots(),
      wants: () => true,
    });
    for (let filled = 0; filled < workers * runsHeld; filled++) {
      const worker = filled % workers;
      this.#send(bodyOf(worker, Math.floor(filled / workers), false));
    }
  }

  round(): void {
    for (let batch = 0; batch < batchesPerRound; batch++) {
      const run = Math.floor(this.#sent / workers) % runs;
      this.#send(this.#bodies[this.#sent % workers]?.[run] ?? new Uint8Array());
    }
  }

  #send(events: Uint8Array): void {
    const id = this.#ids[this.#sent % workers] ?? workerId("w0");
    const sequence = Math.floor(this.#sent / workers) + 1;
    this.#sent += 1;
    const entry: KvFeed = {
      epoch: 1,
      feedSequence: this.#sent,
      kind: "batch",
      workerId: id,
      generation: 1,
      dpRank: 0,
      sequence,
      events,
    };
    this.applier.take(entry, 0);
  }
}

describe("1,000 batches of 32 blocks stored and 32 removed, 16 workers, 262,144 blocks", () => {
  const stream = new Stream();
  bench("into the flat index", () => stream.round());
});

describe("a router that starts with 2 M blocks", () => {
  const ranks = 122;
  const pageBlocks = 16_384;
  const page = (rank: number): Uint8Array => {
    const events: KvEvent[] = [];
    for (let run = 0; run < pageBlocks / runBlocks; run++) {
      const sequenceHashes = hashesOf(rank, run);
      events.push({ kind: "stored", parent: null, blockHashes: sequenceHashes, sequenceHashes });
    }
    return packKvEvents(events);
  };
  const pages = Array.from({ length: ranks }, (_, rank) => page(rank));

  bench(
    "all of it, in steps of 512 blocks",
    () => {
      const applier = new FeedApplier(defaultFeedApplierOptions, {
        index: createFlatIndex(),
        slots: new RankSlots(),
        wants: () => true,
      });
      const about = { generation: 1, dpRank: 0 };
      const position = (_: unknown, rank: number) => ({
        ...about,
        workerId: workerId(`w${rank}`),
        sequence: 1,
      });
      const positions = Array.from({ length: ranks }, position);
      applier.takePositions({ epoch: 1, feedSequence: 0, ranks: positions }, 0);
      for (let done = 0; done < ranks; ) {
        for (const ask of applier.takeAsks(0)) {
          const body = pages[Number(ask.question.workerId.slice(1))] ?? new Uint8Array();
          const answer = { ...about, workerId: ask.question.workerId, lastSequence: 1 };
          const whole = { page: 0, next: null, bodies: [body], kind: "dump" } as const;
          applier.takeHistory(ask, { ...answer, ...whole }, 0);
          done += 1;
        }
        while (!applier.step(512));
      }
    },
    { iterations: 2, time: 0, warmupIterations: 1, warmupTime: 0 },
  );
});
