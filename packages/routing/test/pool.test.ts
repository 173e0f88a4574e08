import type { CoreBooking } from "@baton/kv-router";
import { actorId, type ModelCard, workerId } from "@baton/protocol";
import { loadReport, testGeneration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import type { LoadedPolicy } from "../src/policy/load-policy.ts";
import { Pool, type PoolRequest } from "../src/pool.ts";
import { bookingOn } from "./support/bookings.ts";
import { limits, loadedPolicy, policyFromFile } from "./support/desk-rig.ts";
import { FakeFeeds, promptOf } from "./support/fake-feeds.ts";
import { workerView } from "./support/fake-view.ts";

const prompt = promptOf(1, 2, 3, 4);
const two = [workerView("w-1"), workerView("w-2")];

function poolWith(loaded: LoadedPolicy = loadedPolicy({ routerMode: "kv" }), workers = two) {
  const feeds = new FakeFeeds();
  const warnings: string[] = [];
  const forgotten: string[] = [];
  const pool = new Pool(loaded, {
    workerType: "decode",
    routerId: actorId("d-1"),
    limits,
    openFeed: feeds.follow,
    warn: (text) => void warnings.push(text),
    onForgotten: (entries) => void forgotten.push(...entries.map(({ bookingId }) => bookingId)),
  });
  pool.setWorkers(workers, true);
  return { pool, feeds, warnings, forgotten };
}

function asking(changes: Partial<PoolRequest> = {}): PoolRequest {
  const sequenceHashes = changes.sequenceHashes ?? prompt;
  return {
    nowMs: 0,
    promptTokens: 256,
    promptBlocks: sequenceHashes.length / 8,
    stage: "aggregated",
    sequenceHashes,
    ...changes,
  };
}

function booked(id: string, changes: Partial<CoreBooking> = {}): CoreBooking {
  return { ...bookingOn(id), atMs: 0, ...changes };
}

const chosenBy = (pool: Pool, changes: Partial<PoolRequest> = {}) =>
  pool.choose(asking(changes), 0.3);

describe("a pool's choice", () => {
  it("goes to who holds most of the prompt, and says how much that is", () => {
    const { pool, feeds } = poolWith();
    feeds.hold("w-1", promptOf(1));
    feeds.hold("w-2", promptOf(1, 2, 3));

    expect(chosenBy(pool)).toMatchObject({
      workerId: "w-2",
      overlapBlocks: 3,
      cachedTokens: 192,
      bestOverlapBlocks: 3,
    });
  });

  it("is among the workers of its type that are not lost", () => {
    const { pool } = poolWith(loadedPolicy(), [
      workerView("w-1", { state: "lost" }),
      workerView("w-2", { workerType: "prefill" }),
      workerView("w-3", { card: { blockSize: 16 } }),
    ]);

    expect(chosenBy(pool)).toMatchObject({ workerId: "w-3" });
    expect(["w-1", "w-2", "w-3"].map((id) => pool.worker(workerId(id))?.id)).toEqual([
      undefined,
      undefined,
      "w-3",
    ]);
    expect(pool.blockSize).toBe(16);
  });

  it("goes by its own choices where nobody follows the workers' events", () => {
    const { pool, feeds } = poolWith(loadedPolicy({ routerMode: "kv", useKvEvents: false }));
    pool.core.book(booked("w-2", { sequenceHashes: prompt }));
    pool.core.release(bookingOn("w-2").bookingId, 0);

    expect(chosenBy(pool)).toMatchObject({ workerId: "w-2", overlapBlocks: 4 });
    expect(chosenBy(pool, { nowMs: 120_000 })).toMatchObject({ overlapBlocks: 0 });
    expect(feeds.log).toEqual([]);
  });

  it("forgets its own choices as a worker's room does, if so configured", () => {
    const small = [workerView("w-1", { capacity: { totalBlocks: 2 } })];
    const flags = { routerMode: "kv", useKvEvents: false, approximateCachePolicy: "lru" } as const;
    const { pool } = poolWith(loadedPolicy(flags), small);
    pool.core.book(booked("w-1", { sequenceHashes: prompt }));

    expect(chosenBy(pool, { nowMs: 1e9 })).toMatchObject({ overlapBlocks: 2 });
  });
});

describe("the feed of a pool", () => {
  it("is followed while the mode looks at caches, into an index that is empty each time", () => {
    const { pool, feeds } = poolWith();
    feeds.hold("w-2", prompt);

    pool.setPolicy(loadedPolicy({ routerMode: "least-loaded" }));
    expect([feeds.log, pool.core.index]).toEqual([["opened", "workers changed", "stopped"], null]);

    pool.setPolicy(loadedPolicy({ routerMode: "two-tier" }));
    expect([feeds.running, pool.core.index?.blocks]).toEqual([1, 0]);
    expect(pool.core.index).toBe(feeds.targets[1]?.index);
  });

  it("goes on while another policy looks at the same index", () => {
    const { pool, feeds } = poolWith();
    feeds.hold("w-2", prompt);

    pool.setPolicy(loadedPolicy({ routerMode: "two-tier" }));

    expect(feeds.log).toEqual(["opened", "workers changed"]);
    expect(chosenBy(pool)).toMatchObject({ workerId: "w-2", overlapBlocks: 4 });
  });

  it("is followed only while the role wants it", () => {
    const { pool, feeds } = poolWith();

    pool.setWorkers(two, false);
    expect([feeds.running, pool.core.index]).toEqual([0, null]);
    pool.setWorkers(two, true);

    expect(feeds.running).toBe(1);
  });

  it("is not followed where events are not to be used", () => {
    const { pool, feeds } = poolWith();

    pool.setPolicy(loadedPolicy({ routerMode: "kv", useKvEvents: false }));

    expect(feeds.running).toBe(0);
  });

  it("wants what the pool's workers hold, and those that are not known yet", () => {
    const { feeds } = poolWith(loadedPolicy({ routerMode: "kv" }), [
      ...two,
      workerView("p-1", { workerType: "prefill" }),
    ]);
    const wants = (id: string) => feeds.targets[0]?.wants(workerId(id));

    expect(["w-1", "p-1", "w-9"].map(wants)).toEqual([true, false, true]);
  });

  it("ends with the pool", () => {
    const { pool, feeds } = poolWith();

    pool.close();
    pool.close();

    expect(feeds.running).toBe(0);
  });
});

describe("what a pool books", () => {
  const kv = { routerMode: "kv" } as const;
  it.each([
    { what: "what is not cached", tokens: 156, blocks: 4 },
    {
      what: "no prompt tokens where they are not counted",
      file: "router: {router_track_prefill_tokens: false}",
      tokens: 0,
      blocks: 4,
    },
    {
      what: "no hashes where blocks are not counted",
      file: "router: {router_track_active_blocks: false}",
      tokens: 156,
      blocks: 0,
    },
    {
      what: "no hashes where equal prefixes count apart",
      file: "router: {router_assume_kv_reuse: false}",
      tokens: 156,
      blocks: 0,
    },
    {
      what: "hashes to predict by, though equal prefixes count apart",
      file: "router: {router_assume_kv_reuse: false, router_predicted_ttl_secs: 5}",
      tokens: 156,
      blocks: 4,
    },
    {
      what: "no hashes in a mode that does not look at them",
      flags: { routerMode: "least-loaded" } as const,
      tokens: 156,
      blocks: 0,
    },
  ])("is $what", ({ file, flags, tokens, blocks }) => {
    const { pool } = poolWith(
      file === undefined ? loadedPolicy(flags ?? kv) : policyFromFile(file),
    );

    const share = pool.share(asking(), 100);

    expect([share.prefillTokens, share.sequenceHashes.length / 8]).toEqual([tokens, blocks]);
  });

  it("is no prompt tokens and no hashes of a decode that follows a prefill", () => {
    const { pool } = poolWith();
    const overrides = { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false };

    expect(pool.share(asking({ overrides, stage: "decode" }), 0)).toEqual({
      prefillTokens: 0,
      sequenceHashes: new Uint8Array(),
    });
  });

  it("is never less than nothing", () => {
    expect(poolWith().pool.share(asking(), 999).prefillTokens).toBe(0);
  });
});

describe("a pool's configuration", () => {
  const carrying = (id: string, routerConfig: ModelCard["routerConfig"], state = "live" as const) =>
    workerView(id, { state, card: { routerConfig } });

  it("is the cards' own, whole, and the router's again when they are gone", () => {
    const { pool, feeds } = poolWith(loadedPolicy({ routerMode: "kv" }), [
      carrying("w-1", { mode: "round-robin", sessionAffinityTtlSecs: 9 }),
    ]);
    expect([pool.mode, feeds.running]).toEqual(["round-robin", 0]);

    pool.setWorkers(two, true);

    expect([pool.mode, feeds.running]).toEqual(["kv", 1]);
  });

  it("warns of what is odd once, and again when it comes back", () => {
    const odd = [carrying("w-1", { mode: "telepathy" })];
    const { pool, warnings } = poolWith(loadedPolicy(), odd);
    pool.setWorkers([...odd, workerView("w-2")], true);
    pool.setPolicy(loadedPolicy({ routerMode: "random" }));
    expect(warnings).toEqual([expect.stringContaining("telepathy")]);

    pool.setWorkers(two, true);
    pool.setWorkers(odd, true);

    expect(warnings).toHaveLength(2);
    expect(pool.mode).toBe("random");
  });

  it("is not that of a worker which is lost, while another one lives", () => {
    const lost = workerView("w-1", { state: "lost", card: { routerConfig: { mode: "random" } } });
    const { pool } = poolWith(loadedPolicy(), [lost, carrying("w-2", { mode: "round-robin" })]);
    expect(pool.mode).toBe("round-robin");

    pool.setWorkers([lost], true);

    expect(pool.mode).toBe("random");
  });
});

describe("another policy", () => {
  it("keeps bookings and index while the same things are counted", () => {
    const { pool, forgotten } = poolWith();
    pool.core.book(booked("w-1"));

    pool.setPolicy(policyFromFile("busy_thresholds: {active_prefill_tokens_threshold: 10}"));

    expect([pool.core.booked, forgotten]).toEqual([1, []]);
  });

  it("counts afresh where other things are counted, and says what it knows no more", () => {
    const { pool, forgotten } = poolWith();
    pool.core.book(booked("w-1"));

    pool.setPolicy(loadedPolicy({ routerMode: "kv", trackOutputBlocks: true }));

    expect([pool.core.booked, forgotten]).toEqual([0, ["r9"]]);
  });

  it("still knows who refuses, and what workers said last", () => {
    const busy = workerView("w-1", { load: loadReport("w-1", { activeBlocks: 70 }) });
    const { pool } = poolWith(loadedPolicy({ routerMode: "kv" }), [busy, workerView("w-2")]);
    pool.core.refuse(workerId("w-2"), 500);

    pool.setPolicy(loadedPolicy({ routerMode: "kv", trackOutputBlocks: true }));

    expect(pool.core.candidates("decode")).toMatchObject([
      { activeBlocks: 70, refusesUntilMs: 0 },
      { activeBlocks: null, refusesUntilMs: 500 },
    ]);
  });
});

it("knows whether a worker has as many requests as it takes, whichever rank they are on", () => {
  const capacity = { maxSequences: 1, dpSize: 2 };
  const { pool } = poolWith(loadedPolicy(), [workerView("w-1", { capacity })]);
  const isFull = (id: string) => pool.isFull(workerId(id));
  expect([isFull("w-1"), isFull("w-9")]).toEqual([false, false]);

  pool.core.book(booked("w-1", { dpRank: 1, generation: testGeneration }));

  expect(isFull("w-1")).toBe(true);
});
