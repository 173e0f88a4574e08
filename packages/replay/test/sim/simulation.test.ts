import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createStageCore } from "../../src/sim/create-stage-core.ts";
import { Simulation, type SimulationOptions } from "../../src/sim/simulation.ts";
import { planArrivals } from "../../src/trace/plan-arrivals.ts";
import type { TraceRow } from "../../src/trace/trace-row.ts";
import { rowOf, testHasher, timing } from "../support/builders.ts";

const blocks = 64;
const capacityTokens = blocks * 512;

const prefillMs = (tokens: number, cachedTokens = 0) =>
  timing.prefillMs({
    count: 1,
    contextTokens: tokens,
    prefixTokens: cachedTokens,
    largestShare: 1,
  });
const decodeMs = (...lengths: readonly number[]) =>
  timing.decodeMs({
    count: lengths.length,
    contextTokens: lengths.reduce((sum, length) => sum + length, 0),
    capacityTokens,
  });

type Facts = Partial<SimulationOptions> & { readonly policy?: "kv" | "least-loaded" };

function run(rows: readonly TraceRow[], { policy = "least-loaded", ...facts }: Facts = {}) {
  const options: SimulationOptions = {
    shape: { kind: "aggregated", workers: 1 },
    blocks,
    blockSize: 512,
    traceBlockSize: 512,
    eventDelayMs: 0,
    transferGbps: 0,
    pooledCache: false,
    ...facts,
  };
  const random = new SeededRandom(7);
  const result = new Simulation(planArrivals(rows, { speed: 1, limit: null }), options, {
    hasher: testHasher,
    random: (stage) => random.fork(stage),
    createCore: (stage) => createStageCore(stage, { policy, parameters: {} }),
  }).run();
  const outcomes = result.measurements.outcomes.toSorted((a, b) => a.index - b.index);
  return { ...result, outcomes };
}

const disaggregated = { kind: "disaggregated", prefill: 1, decode: 1 } as const;

describe("one aggregated worker", () => {
  it("takes for a request what the timing model says", () => {
    const { outcomes, durationMs, measurements } = run([rowOf({ ids: [1], outputTokens: 3 })]);

    const ttftMs = prefillMs(512) + decodeMs(512);
    expect(outcomes[0]?.ttftMs).toBeCloseTo(ttftMs, 9);
    expect([...measurements.itlMs.values()]).toEqual([
      expect.closeTo(decodeMs(513), 9),
      expect.closeTo(decodeMs(514), 9),
    ]);
    expect(durationMs).toBeCloseTo(ttftMs + decodeMs(513) + decodeMs(514), 9);
  });

  it("computes in order of arrival, and what came while it computed in one pass", () => {
    const rows = [
      rowOf({ ids: [1, 2] }),
      rowOf({ stampMs: 1, ids: [3, 4] }),
      rowOf({ stampMs: 2, ids: [5, 6] }),
      rowOf({ stampMs: 10_000 }),
    ];

    const { outcomes } = run(rows);

    const firstMs = prefillMs(1_024) + decodeMs(1_024);
    const secondMs =
      timing.prefillMs({ count: 2, contextTokens: 2_048, prefixTokens: 0, largestShare: 1 }) +
      decodeMs(1_024, 1_024);
    expect(outcomes.slice(0, 3).map(({ ttftMs }) => ttftMs)).toEqual([
      expect.closeTo(firstMs, 9),
      expect.closeTo(firstMs + secondMs - 1, 9),
      expect.closeTo(firstMs + secondMs - 2, 9),
    ]);
  });

  it("is never idle while requests wait", () => {
    const rows = Array.from({ length: 40 }, (_, at) =>
      rowOf({ ids: [at, at + 100], outputTokens: 20 }),
    );

    const { workers, durationMs, outcomes } = run(rows);

    expect(workers[0]?.busyMs).toBeCloseTo(durationMs, 6);
    expect(outcomes).toHaveLength(40);
  });

  it("finds in its cache what an earlier prompt left there, but for the last block", () => {
    const rows = [rowOf({ ids: [1, 2, 3] }), rowOf({ stampMs: 5_000, ids: [1, 2, 3] })];

    const { outcomes } = run(rows);

    expect(outcomes.map(({ blocksFound, blocksAsked }) => [blocksFound, blocksAsked])).toEqual([
      [0, 3],
      [2, 3],
    ]);
    expect(outcomes[1]?.ttftMs).toBeCloseTo(prefillMs(1_536, 1_024) + decodeMs(1_536), 9);
  });

  it("refuses what it could never hold, and goes on", () => {
    const tooLong = Array.from({ length: blocks + 1 }, (_, at) => at);

    const { outcomes, measurements } = run([rowOf({ ids: tooLong }), rowOf({ stampMs: 9 })]);

    expect(measurements.refused).toEqual([0]);
    expect(outcomes.map(({ index }) => index)).toEqual([1]);
  });
});

describe("a session", () => {
  it("goes on when its turn before has ended and its delay is over", () => {
    const turn = { sessionId: "s", outputTokens: 2 };
    const rows = [
      rowOf({ ...turn, ids: [1] }),
      rowOf({ ...turn, stampMs: null, delayMs: 250, ids: [1, 2] }),
      rowOf({ ...turn, stampMs: null, delayMs: 50, ids: [1, 2, 3] }),
    ];

    const { outcomes } = run(rows);

    expect(outcomes[1]?.arrivedMs).toBeCloseTo((outcomes[0]?.endedMs ?? 0) + 250, 9);
    expect(outcomes[2]?.arrivedMs).toBeCloseTo((outcomes[1]?.endedMs ?? 0) + 50, 9);
    expect(outcomes.map(({ blocksFound }) => blocksFound)).toEqual([0, 1, 2]);
  });

  it("goes on after a turn that was refused", () => {
    const tooLong = Array.from({ length: blocks + 1 }, (_, at) => at);
    const rows = [
      rowOf({ sessionId: "s", ids: tooLong }),
      rowOf({ sessionId: "s", stampMs: null, delayMs: 30 }),
    ];

    expect(run(rows).outcomes[0]?.arrivedMs).toBe(30);
  });
});

describe("prefill and decode apart", () => {
  const rows = [rowOf({ ids: [1, 2], outputTokens: 3 })];

  it("takes the prefill, the handoff, and then decode steps alone", () => {
    const { outcomes, measurements } = run(rows, { shape: disaggregated });

    expect(outcomes[0]?.ttftMs).toBeCloseTo(prefillMs(1_024), 9);
    expect([...measurements.itlMs.values()]).toEqual([
      expect.closeTo(decodeMs(1_025), 9),
      expect.closeTo(decodeMs(1_026), 9),
    ]);
  });

  it("takes as long for a handoff as its bytes need", () => {
    const { outcomes } = run(rows, { shape: disaggregated, transferGbps: 2 });

    const transferMs = (1_024 * 131_072) / 2e6;
    expect(outcomes[0]?.ttftMs).toBeCloseTo(prefillMs(1_024) + transferMs, 9);
  });

  it("moves only what the decode worker does not have", () => {
    const twice = [...rows, rowOf({ stampMs: 60_000, ids: [1, 2, 3], outputTokens: 3 })];

    const { outcomes } = run(twice, { shape: disaggregated, transferGbps: 2 });

    const transferMs = (512 * 131_072) / 2e6;
    expect(outcomes[1]?.ttftMs).toBeCloseTo(prefillMs(1_536, 1_024) + transferMs, 9);
  });

  it("ends with the prefill where one token was asked for", () => {
    const { outcomes, workers } = run([rowOf()], { shape: disaggregated, transferGbps: 0.001 });

    expect(outcomes[0]).toMatchObject({ outputTokens: 1, itlMs: 0 });
    expect(outcomes[0]?.ttftMs).toBeCloseTo(prefillMs(512), 9);
    expect(workers.map(({ requests }) => requests)).toEqual([1, 0]);
  });

  it("leaves nothing on any worker", () => {
    const many = Array.from({ length: 60 }, (_, at) =>
      rowOf({ stampMs: at * 5, ids: [at % 7, at + 100, at + 200], outputTokens: 1 + (at % 90) }),
    );
    const shape = { kind: "disaggregated", prefill: 2, decode: 2 } as const;

    const { outcomes, workers } = run(many, { shape, policy: "kv", transferGbps: 10 });

    expect(outcomes).toHaveLength(60);
    for (const { engine, promptBlocks } of workers) {
      expect(engine.load()).toMatchObject({ activeBlocks: 0, stagedHandoffs: 0 });
      expect(promptBlocks).toBe(0);
    }
  });

  it("waits on the decode side when there is no room, its prompt staged meanwhile", () => {
    const large = Array.from({ length: 40 }, (_, at) => at);
    const other = large.map((id) => id + 1_000);
    const both = [
      rowOf({ ids: large, outputTokens: 200 }),
      rowOf({ stampMs: 1, ids: other, outputTokens: 2 }),
    ];

    const { outcomes, workers } = run(both, { shape: { ...disaggregated, prefill: 2 } });

    const firstLeftMs = outcomes[0]?.endedMs ?? 0;
    expect(outcomes[1]?.arrivedMs).toBe(1);
    expect((outcomes[1]?.ttftMs ?? 0) + 1).toBeCloseTo(firstLeftMs, 6);
    expect(workers[1]?.busyMs).toBeLessThan(firstLeftMs / 2);
  });
});

describe("many workers", () => {
  const rows = Array.from({ length: 16 }, (_, at) =>
    rowOf({ stampMs: at * 2_000, ids: [1, 2, 3] }),
  );
  const shape = { kind: "aggregated", workers: 4 } as const;
  const found = (facts: Facts) => run(rows, { shape, ...facts }).measurements.blocksFound;

  it("share one cache where it is pooled", () => {
    expect(found({ pooledCache: true })).toBe(15 * 2);
  });

  it("are chosen by what they hold, once the router has heard of it", () => {
    expect(found({ policy: "kv" })).toBe(15 * 2);
    expect(found({ policy: "kv", eventDelayMs: 40_000 })).toBeLessThan(15 * 2);
    expect(found({ policy: "least-loaded" })).toBeLessThan(15 * 2);
  });

  it("do the same again with the same seed", () => {
    const digestOf = (policy: "kv" | "least-loaded") => run(rows, { shape, policy }).digest;

    expect(digestOf("kv")).toBe(digestOf("kv"));
    expect(digestOf("kv")).not.toBe(digestOf("least-loaded"));
  });

  it("wake when another gave back blocks of the pool that they share", () => {
    const large = Array.from({ length: 60 }, (_, at) => rowOf({ ids: idsFrom(at * 100, 30) }));

    const { outcomes } = run(large, { shape, blocks: 32, pooledCache: true });

    expect(outcomes).toHaveLength(60);
  });
});

function idsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}
