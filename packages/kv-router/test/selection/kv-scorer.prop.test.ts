import fc from "fast-check";
import { expect, it } from "vitest";
import { createSelector, type SelectionRequest, type WorkerCandidate } from "../../src/index.ts";
import { defaultLoadTracking } from "../../src/selection/policy-options.ts";
import { candidate, selectionRequest } from "../support.ts";

const weight = fc.double({ min: 0, max: 4, noNaN: true });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const parameters = fc.record({
  overlap_score_credit: weight,
  overlap_score_credit_decay: weight,
  prefill_load_scale: weight,
  uncached_prefill_weight: weight,
  decode_active_request_weight: weight,
  host_cache_hit_weight: share,
  disk_cache_hit_weight: share,
});
const tracking = fc.record({
  trackActiveBlocks: fc.boolean(),
  assumeKvReuse: fc.boolean(),
  trackPrefillTokens: fc.boolean(),
});
const blocks = fc.integer({ min: 0, max: 20 });
const facts = fc.record({
  overlapBlocks: blocks,
  hostOverlapBlocks: blocks,
  diskOverlapBlocks: blocks,
  bookedBlocks: blocks,
  bookedOverlapBlocks: blocks,
  activePrefillTokens: fc.integer({ min: 0, max: 900 }),
  requestsInFlight: fc.integer({ min: 0, max: 9 }),
  taints: fc.subarray(["near", "far"]).map((taints) => new Set(taints)),
});
const candidates = fc
  .array(facts, { minLength: 1, maxLength: 6 })
  .map((all) => all.map((one, index) => candidate(`w${index}`, one)));
const request = fc.record({
  promptTokens: fc.integer({ min: 0, max: 300 }),
  blockSize: fc.integer({ min: 1, max: 64 }),
  stage: fc.constantFrom("prefill" as const, "decode" as const, "aggregated" as const),
  constraints: fc.constantFrom(
    { requiredTaints: [], preferredTaints: {} },
    { requiredTaints: [], preferredTaints: { near: 0.85, far: -2 } },
  ),
});

type Options = typeof parameters extends fc.Arbitrary<infer Value> ? Value : never;
type Tracking = typeof tracking extends fc.Arbitrary<infer Value> ? Value : never;

/** The cost as it is written down, one line a term. */
function plainCost(
  one: WorkerCandidate,
  all: readonly WorkerCandidate[],
  asked: SelectionRequest,
  given: Options,
  tracked: Tracking,
): number {
  const { promptTokens: isl, blockSize: size } = asked;
  const { overlapBlocks: device, hostOverlapBlocks: host, diskOverlapBlocks: disk } = one;
  const hostCredit = given.host_cache_hit_weight * host;
  const diskCredit = given.disk_cache_hit_weight * disk;
  const cached = Math.round((device + hostCredit + diskCredit) * size);
  const active = one.activePrefillTokens;
  const raw = tracked.trackPrefillTokens ? (active + Math.max(0, isl - cached) + cached) / size : 0;
  const least = Math.min(...all.map((other) => other.activePrefillTokens));
  const prompt = Math.max(1, Math.ceil(isl / size));
  const rate = given.overlap_score_credit_decay;
  const decay =
    tracked.trackPrefillTokens && rate > 0
      ? 1 / (1 + (rate * ((active - least) / size)) / prompt)
      : 1;
  const credit = given.overlap_score_credit * decay * device + hostCredit + diskCredit;
  const tracksBlocks = tracked.trackActiveBlocks && asked.stage !== "prefill";
  const missing = asked.promptBlocks - (tracked.assumeKvReuse ? one.bookedOverlapBlocks : 0);
  const decode = tracksBlocks ? one.bookedBlocks + missing : 0;
  const requests = given.decode_active_request_weight * one.requestsInFlight;
  const isException =
    asked.stage === "decode" && !tracked.trackPrefillTokens && given.overlap_score_credit > 0;
  const held = given.overlap_score_credit > 0 ? cached : 0;
  const uncached = tracked.trackPrefillTokens ? Math.max(0, isl - held) / size : 0;
  const anew = given.uncached_prefill_weight * uncached;
  const sum = isException
    ? Math.max(0, decode - credit) + requests
    : given.prefill_load_scale * (Math.max(0, raw - credit) + anew) + decode + requests;
  let preference = 0;
  for (const [taint, value] of Object.entries(asked.constraints?.preferredTaints ?? {})) {
    if (one.taints.has(taint)) preference += value;
  }
  return sum * Math.exp(-Math.tanh(preference));
}

it("is the cost that is written down, and the cheapest candidate is chosen", () => {
  fc.assert(
    fc.property(
      candidates,
      request,
      parameters,
      tracking,
      share,
      (all, asked, given, tracked, drawn) => {
        const whole = selectionRequest({
          ...asked,
          promptBlocks: Math.floor(asked.promptTokens / asked.blockSize),
        });
        const spec = {
          mode: "kv" as const,
          parameters: given,
          tracking: { ...defaultLoadTracking, ...tracked },
        };
        const expected = all.map((one) => plainCost(one, all, whole, given, tracked));

        const { candidates: explained, selection } = createSelector(spec).explain(
          whole,
          all,
          Math.min(drawn, 0.999),
        );

        explained.forEach(({ cost }, index) => {
          expect(cost).toBeCloseTo(expected[index]!, 6);
        });
        const chosen = explained.find(
          (one) => selection.kind === "selected" && one.workerId === selection.workerId,
        );
        expect(chosen?.cost).toBe(Math.min(...explained.map(({ cost }) => cost)));
      },
    ),
    { numRuns: 1_000 },
  );
});
