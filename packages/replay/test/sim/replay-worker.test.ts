import { describe, expect, it } from "vitest";
import { Happening, VirtualTime } from "../../src/sim/virtual-time.ts";
import { requestOf, timing, workerOf } from "../support/builders.ts";

const prefillMs = timing.prefillMs({
  count: 1,
  contextTokens: 512,
  prefixTokens: 0,
  largestShare: 1,
});

describe("a worker", () => {
  it("runs pass after pass while there is work, and counts them", () => {
    const time = new VirtualTime();
    const ended: [string, number][] = [];
    const worker = workerOf(time, {
      onPass: (_, result) => {
        for (const request of result.ended) ended.push([request.id, time.nowMs]);
      },
    });

    worker.compute(requestOf(0, [1], 3));
    time.run();

    expect(ended).toEqual([["r0", time.nowMs]]);
    expect([worker.requests, worker.passes]).toEqual([1, 3]);
    expect(worker.busyMs).toBeCloseTo(time.nowMs, 9);
    expect(worker.busyByBin).toEqual([worker.busyMs]);
    expect(worker.usedByBin[0]).toBeGreaterThan(worker.busyMs / 64);
    expect(worker.usedByBin[0]).toBeLessThanOrEqual((worker.busyMs * 2) / 64);
  });

  it("sets a prompt aside when it only prefills", () => {
    const time = new VirtualTime();
    const staged: boolean[] = [];
    const worker = workerOf(time, {
      type: "prefill",
      onPass: (_, { prefills }) => staged.push(...prefills.map((done) => done.staged)),
    });

    worker.compute(requestOf(0, [1], 3));
    time.run();

    expect(staged).toEqual([true]);
    expect(time.nowMs).toBeCloseTo(prefillMs, 9);
  });

  it("lets requests that come while a pass ends share the next one", () => {
    const time = new VirtualTime();
    const results: number[] = [];
    const worker = workerOf(time, {
      type: "prefill",
      onPass: (self, { prefills }) => {
        results.push(prefills.length);
        if (results.length > 1) return;
        self.compute(requestOf(1, [2]));
        self.compute(requestOf(2, [3]));
      },
    });

    worker.compute(requestOf(0));
    time.run();

    expect(results).toEqual([1, 2]);
  });

  it("says whether it can ever run a request, and what prompts are here", () => {
    const time = new VirtualTime();
    const worker = workerOf(time, { engine: { blockCount: 2 } });
    const small = requestOf(0, [1, 2]);

    expect(worker.compute(small)).toBe(true);
    expect(worker.compute(requestOf(1, [1, 2, 3]))).toBe(false);
    expect(worker.promptBlocks).toBe(5);
    worker.left(small);
    expect(worker.promptBlocks).toBe(3);
  });

  it("goes on from what another computed", () => {
    const time = new VirtualTime();
    const ended: number[] = [];
    const worker = workerOf(time, {
      type: "decode",
      onPass: (_, result) => ended.push(...result.ended.map(({ index }) => index)),
    });
    const request = requestOf(6, [1], 3);

    expect(worker.import(request).kind).toBe("reserved");
    const arrived = new Happening(() => {
      worker.engine.handoffArrived(request.id, "simulated");
      worker.wake();
    });
    time.plan(10, arrived);
    time.run();

    expect(ended).toEqual([6]);
    expect(worker.passes).toBe(2);
  });
});
