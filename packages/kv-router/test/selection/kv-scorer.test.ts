import { describe, expect, it } from "vitest";
import type { SelectionRequest, WorkerCandidate } from "../../src/index.ts";
import { KvScorer } from "../../src/selection/kv-scorer.ts";
import {
  defaultKvCostOptions,
  defaultLoadTracking,
  type KvCostOptions,
  type LoadTrackingOptions,
} from "../../src/selection/policy-options.ts";
import { candidate, selectionRequest } from "../support.ts";

/** The cost of the reference alone. */
const reference: KvCostOptions = {
  ...defaultKvCostOptions,
  prefillLoadScale: 1,
  uncachedPrefillWeight: 0,
};

interface Case {
  readonly options?: Partial<KvCostOptions>;
  readonly tracking?: Partial<LoadTrackingOptions>;
  /** Without it: 100 tokens in 10 blocks of 10. */
  readonly request?: Partial<SelectionRequest>;
  readonly others?: readonly WorkerCandidate[];
}

function scorerOf({ options, tracking, request, others = [] }: Case, one: WorkerCandidate) {
  const scorer = new KvScorer(
    { ...reference, ...options },
    { ...defaultLoadTracking, ...tracking },
  );
  scorer.begin({ request: selectionRequest(request), eligible: [one, ...others] });
  return scorer;
}

const costOf = (facts: Partial<WorkerCandidate>, given: Case = {}) => {
  const one = candidate("a", facts);
  return scorerOf(given, one).cost(one);
};
const termsOf = (facts: Partial<WorkerCandidate>, given: Case = {}) => {
  const one = candidate("a", facts);
  return scorerOf(given, one).terms(one);
};

describe("the cost of the reference", () => {
  it.each([
    { overlapBlocks: 2, bookedBlocks: 10, cost: 18 },
    { overlapBlocks: 5, bookedBlocks: 5, cost: 10 },
    { overlapBlocks: 8, bookedBlocks: 9, cost: 11 },
  ])("is $cost with $overlapBlocks blocks held and $bookedBlocks active", ({ cost, ...facts }) => {
    // All of the request's blocks are active: decode load is what is booked.
    expect(costOf({ ...facts, bookedOverlapBlocks: 10 })).toBe(cost);
  });

  it("is the prompt's own blocks, to compute and to hold, on an idle worker that holds nothing", () => {
    expect(costOf({}, { request: { promptTokens: 105 } })).toBe(10.5 + 10);
  });

  it("counts prompts that wait, in blocks and not rounded", () => {
    expect(costOf({ activePrefillTokens: 25 })).toBe(12.5 + 10);
  });

  it("gives no credit beyond what there is to compute", () => {
    const more = { overlapBlocks: 10, hostOverlapBlocks: 4 };

    expect(costOf(more)).toBe(3.25 - 0 + 10 - 3.25);
  });

  it("is the active blocks alone for a prompt of no tokens", () => {
    const request = { promptTokens: 0, promptBlocks: 0 };

    expect(costOf({ bookedBlocks: 7 }, { request })).toBe(7);
  });
});

describe("credit", () => {
  it("weighs blocks by the tier they lie on", () => {
    const held = { overlapBlocks: 2, hostOverlapBlocks: 4, diskOverlapBlocks: 4 };
    const options = { overlapScoreCredit: 0.5, hostCacheHitWeight: 0.25, diskCacheHitWeight: 0.1 };

    expect(termsOf(held).credit_blocks).toBe(2 + 3 + 1);
    expect(termsOf(held, { options }).credit_blocks).toBeCloseTo(1 + 1 + 0.4, 12);
  });

  it("may be more than one a block", () => {
    expect(costOf({ overlapBlocks: 4 }, { options: { overlapScoreCredit: 2 } })).toBe(2 + 10);
  });

  it("fades with the prompt tokens beyond the least of the eligible, in prompts of this length", () => {
    const options = { overlapScoreCreditDecay: 0.5 };
    const others = [candidate("b", { activePrefillTokens: 100 })];

    // 20 blocks beyond the least are two prompts: 1 / (1 + 0.5 * 2).
    const behind = termsOf({ activePrefillTokens: 300, overlapBlocks: 6 }, { options, others });
    const first = termsOf({ activePrefillTokens: 100, overlapBlocks: 6 }, { options, others });

    expect(behind).toMatchObject({ decay: 0.5, credit_blocks: 3 });
    expect(first).toMatchObject({ decay: 1, credit_blocks: 6 });
  });

  it("fades by whole blocks of the prompt, and of one at least", () => {
    const options = { overlapScoreCreditDecay: 1 };
    const others = [candidate("b")];
    const decayOf = (promptTokens: number) =>
      termsOf({ activePrefillTokens: 20 }, { options, others, request: { promptTokens } }).decay;

    expect(decayOf(11)).toBe(0.5);
    expect(decayOf(0)).toBeCloseTo(1 / 3, 12);
  });

  it("does not fade in host memory and on disk, nor where prompt tokens are not counted", () => {
    const options = { overlapScoreCreditDecay: 1 };
    const others = [candidate("b")];
    const facts = { activePrefillTokens: 100, hostOverlapBlocks: 4 };
    const tracking = { trackPrefillTokens: false };

    expect(termsOf(facts, { options, others })).toMatchObject({ decay: 0.5, credit_blocks: 3 });
    expect(termsOf(facts, { options, others, tracking }).decay).toBe(1);
  });
});

describe("active blocks", () => {
  it("are joined by the request's own that are not among them", () => {
    expect(termsOf({ bookedBlocks: 20, bookedOverlapBlocks: 4 }).decode_blocks).toBe(26);
  });

  it("are joined by all of the request's if equal prefixes are not taken for shared", () => {
    const facts = { bookedBlocks: 20, bookedOverlapBlocks: 4 };

    expect(termsOf(facts, { tracking: { assumeKvReuse: false } }).decode_blocks).toBe(30);
    expect(termsOf(facts, { request: { overrides: { assumeKvReuse: false } } }).decode_blocks).toBe(
      30,
    );
  });

  it("count nothing where they are not tracked, and never for a prefill", () => {
    const facts = { bookedBlocks: 20 };

    expect(termsOf(facts, { tracking: { trackActiveBlocks: false } }).decode_blocks).toBe(0);
    expect(termsOf(facts, { request: { stage: "prefill" } }).decode_blocks).toBe(0);
    expect(termsOf(facts, { request: { stage: "decode" } }).decode_blocks).toBe(30);
  });

  it("are joined by active requests at their weight", () => {
    const options = { decodeActiveRequestWeight: 2.5 };

    expect(costOf({ requestsInFlight: 4 }, { options })).toBe(20 + 10);
  });
});

describe("prompt tokens", () => {
  it("count for nobody where they are not tracked", () => {
    const facts = { activePrefillTokens: 500, overlapBlocks: 3 };

    expect(costOf(facts, { tracking: { trackPrefillTokens: false } })).toBe(10);
  });

  it("weigh by the scale, less the credit before it", () => {
    const options = { prefillLoadScale: 3 };

    expect(costOf({ overlapBlocks: 4 }, { options })).toBe(3 * 6 + 10);
    expect(costOf({ overlapBlocks: 4 }, { options: { prefillLoadScale: 0 } })).toBe(10);
  });

  it("are the cached ones if those are more: a last block that is not full is held whole", () => {
    const request = { promptTokens: 95 };

    expect(termsOf({ overlapBlocks: 10 }, { request })).toMatchObject({
      cached_tokens: 100,
      raw_prefill_blocks: 10,
    });
  });
});

describe("a decode leg after a remote prefill", () => {
  const facts = { bookedBlocks: 6, overlapBlocks: 9, bookedOverlapBlocks: 5, requestsInFlight: 2 };
  const options = { decodeActiveRequestWeight: 1 };

  it("is its active blocks without credit and without prompt tokens", () => {
    const overrides = { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false };
    const request = { stage: "decode" as const, overrides };

    expect(costOf({ ...facts, activePrefillTokens: 900 }, { request, options })).toBe(16 + 2);
  });

  it("takes the credit off its active blocks, never below none, if it is given any", () => {
    const overrides = { assumeKvReuse: false, trackPrefillTokens: false };
    const request = { stage: "decode" as const, overrides };
    const generous = { ...options, overlapScoreCredit: 4 };

    expect(costOf(facts, { request, options })).toBe(16 - 9 + 2);
    expect(costOf(facts, { request, options: generous })).toBe(0 + 2);
  });

  it("takes it off only then: not in another stage, not while prompt tokens count", () => {
    const overrides = { trackPrefillTokens: false };
    const aggregated = { stage: "aggregated" as const, overrides };

    expect(costOf(facts, { request: aggregated })).toBe(11);
    expect(costOf(facts, { request: { stage: "decode" } })).toBe(10 - 9 + 11);
  });
});

it("puts a request's overrides over its options, and keeps the options for the next", () => {
  const overrides = { overlapScoreCredit: 0.5, prefillLoadScale: 2 };
  const one = candidate("a", { overlapBlocks: 4 });
  const scorer = scorerOf({ request: { overrides } }, one);

  expect(scorer.cost(one)).toBe(2 * 8 + 10);
  scorer.begin({ request: selectionRequest(), eligible: [one] });
  expect(scorer.cost(one)).toBe(6 + 10);
});

it("names every term", () => {
  const facts = {
    activePrefillTokens: 30,
    overlapBlocks: 3,
    hostOverlapBlocks: 2,
    diskOverlapBlocks: 1,
    bookedBlocks: 8,
    bookedOverlapBlocks: 2,
    requestsInFlight: 5,
  };

  expect(termsOf(facts)).toEqual({
    active_prefill_tokens: 30,
    cached_tokens: 48,
    raw_prefill_blocks: 13,
    prefill_load_scale: 1,
    uncached_blocks: 5.2,
    uncached_prefill_weight: 0,
    device_overlap_blocks: 3,
    host_overlap_blocks: 2,
    disk_overlap_blocks: 1,
    overlap_score_credit: 1,
    decay: 1,
    credit_blocks: 4.75,
    decode_blocks: 16,
    active_requests: 5,
    active_request_weight: 0,
  });
});

it.each([
  { prefillLoadScale: Number.MAX_VALUE },
  { overlapScoreCredit: Number.MAX_VALUE },
  { prefillLoadScale: Number.MAX_VALUE, overlapScoreCredit: Number.MAX_VALUE },
])("stays finite, and orders workers, whatever factors a request asks for: %o", (overrides) => {
  const given = { request: { promptTokens: 1_000_000, overrides } };
  const near = costOf({ overlapBlocks: 2, activePrefillTokens: 10 }, given);
  const far = costOf({ overlapBlocks: 0, activePrefillTokens: 9_000_000 }, given);

  expect(Number.isFinite(far * Math.E)).toBe(true);
  expect(near).toBeLessThan(far);
});

it("stays finite with any weight of active requests", () => {
  const options = { decodeActiveRequestWeight: Number.MAX_VALUE };

  expect(Number.isFinite(costOf({ requestsInFlight: 1_000 }, { options }))).toBe(true);
});

describe("a block that must be computed anew", () => {
  const options = { uncachedPrefillWeight: 6 };

  it("weighs more than one that waits, by the scale", () => {
    const anew = costOf({}, { options: { ...options, prefillLoadScale: 4 } });
    const waiting = costOf(
      { activePrefillTokens: 100, overlapBlocks: 10 },
      { options: { ...options, prefillLoadScale: 4 } },
    );

    expect(anew).toBe(4 * (10 + 6 * 10) + 10);
    expect(waiting).toBe(4 * 10 + 10);
  });

  it("is none where the worker holds it, on whatever tier, by that tier's weight", () => {
    expect(termsOf({ overlapBlocks: 4, hostOverlapBlocks: 2 }, { options }).uncached_blocks).toBe(
      4.5,
    );
    expect(termsOf({ overlapBlocks: 10 }, { options }).uncached_blocks).toBe(0);
  });

  it("is the same for all where caches have no credit, and none where prompt tokens do not count", () => {
    const held = { overlapBlocks: 4 };
    const uncached = (overrides: object) =>
      termsOf(held, { options, request: { overrides } }).uncached_blocks;

    expect(uncached({ overlapScoreCredit: 0 })).toBe(10);
    expect(uncached({ trackPrefillTokens: false })).toBe(0);
  });

  it("keeps a long prefix against a queue, and lets a queue that outweighs it decide", () => {
    const cost = (facts: Partial<WorkerCandidate>) =>
      costOf(facts, { options: { ...options, prefillLoadScale: 4 } });

    expect(cost({ overlapBlocks: 8, activePrefillTokens: 400 })).toBeLessThan(cost({}));
    expect(cost({ overlapBlocks: 1, activePrefillTokens: 400 })).toBeGreaterThan(cost({}));
  });
});
