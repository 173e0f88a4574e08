import { describe, expect, it } from "vitest";
import { BlockPool } from "../src/block-pool.ts";
import type { EngineRequest, RequestKind } from "../src/index.ts";
import { RequestBook } from "../src/request-book.ts";
import { MockScheduler } from "../src/scheduler.ts";
import { Settler } from "../src/settler.ts";
import { countingPlan, planFrom, requestOf } from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

/** A settler whose scheduler composes one pass of the requests. */
function afterOnePass(kind: RequestKind, requests: readonly EngineRequest[], budget = 100) {
  const pool = new BlockPool({ blockCount: 32, blockSize: 4, prefixCaching: true });
  const options = {
    maxNumSeqs: 8,
    maxNumBatchedTokens: budget,
    chunkedPrefill: true,
    preemptionMode: "lifo" as const,
  };
  const scheduler = new MockScheduler<EngineRequest>(options, { pool, hasher: testHasher });
  const book = new RequestBook<EngineRequest>(pool, testHasher);
  const limits = { maxModelLen: Number.POSITIVE_INFINITY, blockCount: 32, blockSize: 4 };
  const settler = new Settler(limits, { book, scheduler });
  for (const request of requests) scheduler.enqueue(book.open(request, kind, []));
  scheduler.compose(true);
  return { settler, scheduler, pool, book };
}

describe("settling a pass", () => {
  it("leaves a prompt that is not computed to its end without a token", () => {
    const { settler, scheduler } = afterOnePass("generate", [requestOf()], 6);

    expect(settler.settleRunning()).toEqual({ prefills: [], ended: [] });

    expect(settler.outputs.count).toBe(0);
    expect(scheduler.running).toMatchObject([{ computed: 6, scheduled: 0, prefilling: true }]);
  });

  it("keeps the order of those that go on, forks last", () => {
    const requests = [
      requestOf({ id: "short", rules: { maxTokens: 1 } }),
      requestOf({ id: "split", plans: [countingPlan, planFrom(5)] }),
      requestOf({ id: "long" }),
    ];
    const { settler, scheduler } = afterOnePass("generate", requests);

    const { ended } = settler.settleRunning();

    expect(ended.map((request) => request.id)).toEqual(["short"]);
    expect(scheduler.running.map(({ request, choice }) => `${request.id}/${choice}`)).toEqual([
      "split/0",
      "long/0",
      "split/1",
    ]);
  });

  it("stages a prefill, which takes it off the running ones and gives its slot back", () => {
    const { settler, scheduler, pool, book } = afterOnePass("prefill", [requestOf()]);

    settler.settleRunning();

    expect([settler.stagedCount, scheduler.running.length, pool.activeBlocks]).toEqual([1, 0, 3]);
    expect(scheduler.hasSlots(8)).toBe(true);
    settler.endStaged(book.find("a")!.sequences[0]!);
    expect([settler.stagedCount, pool.activeBlocks, book.has("a")]).toEqual([0, 0, false]);
  });
});
