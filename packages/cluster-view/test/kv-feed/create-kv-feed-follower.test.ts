import { createRadixTree, RankSlots } from "@baton/kv-router";
import { workerId } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { createKvFeedFollower } from "../../src/kv-feed/create-kv-feed-follower.ts";
import { KvFeedFigures } from "../../src/kv-feed/kv-feed-figures.ts";
import { model, PlayedAggregator } from "../support/played-aggregator.ts";

function setUp(options: { readonly wants?: (id: string) => boolean } = {}) {
  const cluster = memoryCluster();
  const ctx = cluster.context({ role: "decode-router", id: "router" });
  const index = createRadixTree();
  const slots = new RankSlots();
  const figures = new KvFeedFigures(ctx.metrics);
  const follower = createKvFeedFollower(ctx, {
    model,
    role: "prefill",
    index,
    slots,
    figures,
    ...options,
  });
  const held = () => {
    const slot = slots.slotOf({ workerId: workerId("w"), generation: 1, dpRank: 0 });
    if (slot === undefined) return null;
    const bytes = index.blocksOf(slot, "device");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Array.from({ length: bytes.byteLength / 8 }, (_, at) =>
      view.getUint32(8 * at, true),
    ).sort((one, other) => one - other);
  };
  return { cluster, ctx, follower, held, slots };
}

describe("createKvFeedFollower", () => {
  it("takes in what there is, page by page, then the feed, and says once that it is synced", async () => {
    const { cluster, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    aggregator.blocks = [1, 2, 3, 4, 5];
    aggregator.sequence = 5;
    aggregator.pageBlocks = 2;
    const told: string[] = [];
    follower.onSynced(() => told.push("synced"));
    follower.start();
    expect(follower.synced).toBe(false);
    await cluster.clock.advanceBy(50);
    aggregator.store(6);
    await cluster.clock.advanceBy(50);

    expect(held()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(aggregator.questions.map(({ page }) => page)).toEqual([0, 1, 2]);
    follower.onSynced(() => told.push("was synced"));
    expect(told).toEqual(["synced", "was synced"]);
  });

  it("loses nothing between what it asks for and what it hears", async () => {
    const { cluster, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    follower.start();
    for (let block = 1; block <= 60; block++) {
      aggregator.store(block);
      await cluster.clock.advanceBy(1);
    }
    await cluster.clock.advanceBy(100);

    expect(held()).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
  });

  it("asks until there is an aggregator", async () => {
    const { cluster, follower, held } = setUp();
    follower.start();
    await cluster.clock.advanceBy(20_000);
    expect(follower.synced).toBe(false);

    const aggregator = new PlayedAggregator(cluster);
    aggregator.blocks = [1];
    aggregator.sequence = 1;
    await cluster.clock.advanceBy(1_100);

    expect(held()).toEqual([1]);
    expect(follower.synced).toBe(true);
  });

  it("keeps what it knows while the aggregator is gone, and compares with another", async () => {
    const { cluster, follower, held } = setUp();
    const first = new PlayedAggregator(cluster);
    follower.start();
    await cluster.clock.advanceBy(20);
    first.store(1, 2);
    await cluster.clock.advanceBy(20);
    cluster.network.kill("agg" as never);
    await cluster.clock.advanceBy(30_000);
    expect(held()).toEqual([1, 2]);

    const second = new PlayedAggregator(cluster, "other");
    second.epoch = 2;
    second.blocks = [1, 2, 3];
    second.sequence = 3;
    second.store(4);
    await cluster.clock.advanceBy(1_500);

    expect(held()).toEqual([1, 2, 3, 4]);
  });

  it("keeps everything while its own bus is gone, and gets back what it missed", async () => {
    const { cluster, ctx, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    follower.start();
    await cluster.clock.advanceBy(20);
    aggregator.store(1);
    await cluster.clock.advanceBy(20);

    cluster.network.disconnect(ctx.id);
    aggregator.store(2);
    await cluster.clock.advanceBy(10_000);
    expect(held()).toEqual([1]);
    cluster.network.reconnect(ctx.id);
    await cluster.clock.advanceBy(100);

    expect(held()).toEqual([1, 2]);
  });

  it("goes on when its bus goes while it asks", async () => {
    const { cluster, ctx, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    aggregator.blocks = [1];
    aggregator.sequence = 1;
    aggregator.answers = false;
    follower.start();
    await cluster.clock.advanceBy(20);
    cluster.network.disconnect(ctx.id);
    await cluster.clock.advanceBy(60_000);
    aggregator.answers = true;
    cluster.network.reconnect(ctx.id);
    await cluster.clock.advanceBy(100);

    expect(held()).toEqual([1]);
  });

  it("compares after a silence, and now and then while it lasts, for entries may have been lost", async () => {
    const { cluster, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    follower.start();
    await cluster.clock.advanceBy(20);
    aggregator.store(1);
    await cluster.clock.advanceBy(20);
    const askedBefore = aggregator.positionsAsked;
    aggregator.blocks = [1, 2];
    aggregator.sequence = 2;

    await cluster.clock.advanceBy(3_000);
    expect(held()).toEqual([1, 2]);
    aggregator.blocks = [1, 2, 3];
    aggregator.sequence = 3;
    await cluster.clock.advanceBy(60_000);

    expect(held()).toEqual([1, 2, 3]);
    const asked = aggregator.positionsAsked - askedBefore;
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(20);
  });

  it("counts and logs what it cannot decode, and gets it back", async () => {
    const { cluster, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    follower.start();
    await cluster.clock.advanceBy(20);
    aggregator.store(1);
    aggregator.sayNonsense();
    aggregator.say("batch", { sequence: 2, events: Uint8Array.of(0xc1) });
    aggregator.sequence = 2;
    await cluster.clock.advanceBy(300);

    const text = await cluster.metrics.text();
    expect(text).toMatch(/baton_kv_feed_malformed_messages_total\{.*model="m".*\} 1/);
    expect(text).toMatch(/baton_kv_feed_events_total\{.*event="malformed".*\} 1/);
    expect(held()).toEqual([1]);
  });

  it("lets go of workers that turn out not to be wanted", async () => {
    let isWanted = true;
    const { cluster, follower, held } = setUp({ wants: () => isWanted });
    const aggregator = new PlayedAggregator(cluster);
    follower.start();
    await cluster.clock.advanceBy(20);
    aggregator.store(1);
    await cluster.clock.advanceBy(20);
    expect(held()).toEqual([1]);

    isWanted = false;
    follower.workersChanged();
    aggregator.store(2);
    await cluster.clock.advanceBy(20);

    expect(held()).toBeNull();
  });

  it("leaves nothing running when it stops, and hears nothing more", async () => {
    const { cluster, follower, held } = setUp();
    const aggregator = new PlayedAggregator(cluster);
    follower.start();
    await cluster.clock.advanceBy(20);
    aggregator.store(1);
    await cluster.clock.advanceBy(20);
    aggregator.answers = false;
    aggregator.say("reached", { sequence: 9 });
    await cluster.clock.advanceBy(20);

    follower.stop();
    follower.stop();
    aggregator.store(2);
    await cluster.clock.advanceBy(20_000);

    expect(held()).toEqual([1]);
    expect(cluster.clock.pendingTimers).toBe(0);
    expect(await cluster.metrics.text()).not.toMatch(/baton_kv_feed_blocks\{.*\}/);
  });
});
