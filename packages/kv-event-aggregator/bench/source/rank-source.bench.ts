import { KvEvents, KvFeed, packKvEvents, workerId } from "@baton/protocol";
import { ManualClock } from "@baton/runtime";
import { bench, describe } from "vitest";
import { ModelFeed } from "../../src/model-feed.ts";
import { makeTableCounts, SourceTable } from "../../src/source/source-table.ts";
import { model } from "../../test/support/kv-world.ts";

const blocks = 16;
const id = workerId("w");
const events = packKvEvents([
  {
    kind: "stored",
    parent: new Uint8Array(8),
    blockHashes: new Uint8Array(8 * blocks),
    sequenceHashes: new Uint8Array(8 * blocks),
  },
]);
const sent = { batch: 0, reached: 0, gone: 0, back: 0 };
const feed = new ModelFeed({ epoch: 1, sent, publish: () => true });
const table = new SourceTable(
  {
    attempts: 8,
    firstBackoffMs: 200,
    maxBackoffMs: 5_000,
    bufferedBatches: 1_024,
    lostHoldMs: 5_000,
    maxSources: 10,
  },
  {
    clock: new ManualClock(),
    counts: makeTableCounts(),
    lookUp: () => ({ id, generation: 1, model, isLost: false, dpRanks: [0] }),
    emit: (_model, entry) => feed.emit(entry),
    ask: () => undefined,
  },
);
let sequence = 0;
const next = () => ({ workerId: id, generation: 1, dpRank: 0, sequence: ++sequence, events });

describe("a batch of 16 blocks", () => {
  bench("relay in order, decode and encode included", () => {
    table.batch(KvEvents.decode(KvEvents.encode(next())));
  });
  bench("of that, the codec alone", () => {
    const batch = KvEvents.decode(KvEvents.encode(next()));
    KvFeed.encode({ epoch: 1, feedSequence: 1, kind: "batch", ...batch });
  });
});
