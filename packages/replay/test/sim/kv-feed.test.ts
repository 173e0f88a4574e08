import { createOverlaps } from "@baton/kv-router";
import type { KvEvent } from "@baton/mock-engine";
import { describe, expect, it } from "vitest";
import { createStageCore } from "../../src/sim/create-stage-core.ts";
import { KvFeed } from "../../src/sim/kv-feed.ts";
import { Happening, VirtualTime } from "../../src/sim/virtual-time.ts";
import { requestOf, workerOf } from "../support/builders.ts";

const { sequenceHashes } = requestOf(0, [1, 2, 3]);
const stored: KvEvent = {
  kind: "stored",
  parent: undefined,
  blockHashes: sequenceHashes,
  sequenceHashes,
};
const removed: KvEvent = { kind: "removed", sequenceHashes: sequenceHashes.subarray(16) };

function feedWith(delayMs: number) {
  const time = new VirtualTime();
  const core = createStageCore("aggregated", { policy: "kv", parameters: {} });
  const feed = new KvFeed(delayMs, { core, time });
  const worker = workerOf(time);
  const overlaps = createOverlaps();
  const held = () => {
    core.index?.find(sequenceHashes, overlaps);
    return overlaps.length > 0 ? (overlaps.device[0] ?? 0) : 0;
  };
  return { time, feed, worker, held };
}

describe("the feed of KV events", () => {
  it("brings them into the index at once", () => {
    const { feed, worker, held } = feedWith(0);

    feed.tell(worker, [stored]);
    expect(held()).toBe(3);
    feed.tell(worker, [removed]);
    expect(held()).toBe(2);
    feed.tell(worker, [{ kind: "cleared" }]);
    expect(held()).toBe(0);
  });

  it("brings them late, in order", () => {
    const { time, feed, worker, held } = feedWith(100);
    const seen: number[] = [];
    const look = new Happening(() => seen.push(held()));

    feed.tell(worker, [stored]);
    feed.tell(worker, [removed]);
    time.plan(99, look);
    time.run();

    expect(seen).toEqual([0]);
    expect(time.nowMs).toBe(100);
    expect(held()).toBe(2);
  });

  it("takes a block without its parent for a broken engine", () => {
    const { feed, worker } = feedWith(0);
    const orphan: KvEvent = { ...stored, parent: new Uint8Array(8).fill(9) };

    expect(() => feed.tell(worker, [orphan])).toThrow(/before its parent/);
  });

  it("drops them where nobody looks at caches", () => {
    const time = new VirtualTime();
    const core = createStageCore("aggregated", { policy: "random", parameters: {} });

    expect(() => new KvFeed(0, { core, time }).tell(workerOf(time), [removed])).not.toThrow();
  });
});
