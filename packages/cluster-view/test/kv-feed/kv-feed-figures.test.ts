import {
  createRadixTree,
  defaultFeedApplierOptions,
  FeedApplier,
  RankSlots,
} from "@baton/kv-router";
import { modelName, packKvEvents, type WorkerType, workerId } from "@baton/protocol";
import { createMetricsRegistry } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { KvFeedFigures } from "../../src/kv-feed/kv-feed-figures.ts";
import { stored } from "../support/played-aggregator.ts";

function reading(name: string, blocks: number, role: WorkerType = "prefill") {
  const index = createRadixTree();
  const applier = new FeedApplier(defaultFeedApplierOptions, {
    index,
    slots: new RankSlots(),
    wants: () => true,
  });
  const about = {
    workerId: workerId("w"),
    generation: 1,
    dpRank: 0,
    epoch: 1,
    kind: "batch",
  } as const;
  for (let block = 1; block <= blocks; block++) {
    const events = packKvEvents([stored(block)]);
    applier.take({ ...about, feedSequence: block, sequence: block, events }, 0);
  }
  return { model: modelName(name), role, index, applier };
}

describe("KvFeedFigures", () => {
  it("shows the followers of one model's pools apart", async () => {
    const registry = createMetricsRegistry();
    const figures = new KvFeedFigures(registry.forActor("decode-router", "r"));
    figures.add(reading("one", 3, "decode"));
    figures.add(reading("one", 5, "aggregated"));

    const text = await registry.text();

    expect(text).toMatch(/baton_kv_feed_blocks\{.*role="decode".*\} 3/);
    expect(text).toMatch(/baton_kv_feed_blocks\{.*role="aggregated".*\} 5/);
  });

  it("shows every model's followers apart, counts each event once, and forgets who has stopped", async () => {
    const registry = createMetricsRegistry();
    const figures = new KvFeedFigures(registry.forActor("decode-router", "r"));
    const one = reading("one", 3);
    figures.add(one);
    const stop = figures.add(reading("two", 5));

    figures.sync(one);
    figures.sync(one);
    figures.malformed(one);
    const text = await registry.text();

    expect(text).toMatch(/baton_kv_feed_blocks\{.*model="one".*\} 3/);
    expect(text).toMatch(/baton_kv_feed_blocks\{.*model="two".*\} 5/);
    expect(text).toMatch(/baton_kv_feed_ranks\{.*model="one".*\} 1/);
    expect(text).toMatch(/baton_kv_feed_synced\{.*model="one".*\} 0/);
    expect(text).toMatch(/events_total\{.*model="one".*event="batch_applied".*\} 3/);
    expect(text).toMatch(/malformed_messages_total\{.*model="one".*\} 1/);
    stop();
    const after = await registry.text();

    expect(after).not.toMatch(/baton_kv_feed_blocks\{.*model="two".*\}/);
    expect(after).toMatch(/events_total\{.*model="two".*event="batch_applied".*\} 5/);
  });
});
