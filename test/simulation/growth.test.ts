import { describe, expect, it } from "vitest";
import { CollectionWatch } from "../support/simulation/collection-watch.ts";
import { GrowingCluster } from "../support/simulation/growth.ts";

/** What is remembered of requests that have ended: bounded by its number, not by time. */
const remembered = [
  // Tickets, so that a second use is told from an unknown one: 4,096 a worker.
  "kv-transfer/src/handoff-ledger.ts",
  // Streams that ended before their worker did: 4,096 a Frontend.
  "frontend/src/relay/request-table.ts",
  // Cancelled ids, forgotten when a later one comes: 65,536 an actor.
  "runtime/src/recent-ids.ts",
  // Moves of the request machine, asked for once: as many as it has.
  "frontend/src/request/request-run.ts",
];

/** All that is held for a time, leases and what is kept for late comers, is let go of in this time. */
const forgetMs = 12_000;

function sizesOf(collections: CollectionWatch): (readonly [string, number])[] {
  return [...collections.sizes()].filter(([site]) => !remembered.includes(site));
}

describe("a simulated cluster that serves on", () => {
  it("holds no more after three times as many requests: timers, subscriptions, maps, sets", {
    timeout: 120_000,
  }, async () => {
    const collections = new CollectionWatch();
    try {
      const growing = await GrowingCluster.start({ frontends: 2, routers: 2, workers: 2 });
      const holdingsAfter = async (count: number) => {
        const completed = await growing.serve({ count, betweenMs: 8, isMixed: true });
        await growing.cluster.clock.advanceBy(forgetMs);
        return { completed, holdings: growing.holdings(), sizes: sizesOf(collections) };
      };

      const first = await holdingsAfter(100);
      const second = await holdingsAfter(200);

      expect(second.completed).toBeGreaterThan(200);
      expect(first.holdings.held).toEqual([]);
      expect(first.sizes.length).toBeGreaterThan(20);
      expect(second.holdings).toEqual(first.holdings);
      expect(second.sizes).toEqual(first.sizes);
    } finally {
      collections.stop();
    }
  });
});
