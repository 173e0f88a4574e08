import { workerId } from "@baton/protocol";
import { bench, describe } from "vitest";
import {
  createSelector,
  type PolicySpec,
  type SelectionRequest,
  type WorkerCandidate,
} from "../../src/index.ts";

const blockSize = 16;
const promptBlocks = 512;

function candidates(count: number): readonly WorkerCandidate[] {
  return Array.from({ length: count }, (_, index) => ({
    workerId: workerId(`worker-${index}`),
    generation: 1,
    dpRank: 0,
    taints: new Set(index % 2 === 0 ? ["near"] : []),
    draining: false,
    refusesUntilMs: 0,
    requestsInFlight: index % 7,
    workerRequestsInFlight: index % 7,
    maxRequestsInFlight: 256,
    activeBlocks: 1_000 + (index % 13),
    totalBlocks: 16_384,
    overlapBlocks: Math.imul(index, 2_654_435_761) >>> 23,
    hostOverlapBlocks: 0,
    diskOverlapBlocks: 0,
    bookedBlocks: Math.imul(index, 40_503) & 4_095,
    bookedOverlapBlocks: index % 5,
    activePrefillTokens: Math.imul(index, 2_246_822_519) >>> 19,
    maxBatchedTokens: 8_192,
    overloaded: false,
  }));
}

const request: SelectionRequest = {
  nowMs: 1,
  promptTokens: blockSize * promptBlocks + 5,
  blockSize,
  promptBlocks,
  stage: "aggregated",
};
const preferring: SelectionRequest = {
  ...request,
  constraints: { requiredTaints: [], preferredTaints: { near: 0.85 } },
};
const policies: Readonly<Record<string, PolicySpec>> = {
  kv: { mode: "kv" },
  "kv with decay": { mode: "kv", parameters: { overlap_score_credit_decay: 0.5 } },
  "kv at temperature 0.5": { mode: "kv", parameters: { router_temperature: 0.5 } },
  "two-tier": { mode: "two-tier" },
  "least-loaded": { mode: "least-loaded" },
  "power-of-two": { mode: "power-of-two" },
  "round-robin": { mode: "round-robin" },
};

for (const count of [64, 1_000]) {
  const all = candidates(count);
  describe(`one choice among ${count}`, () => {
    for (const [name, spec] of Object.entries(policies)) {
      const selector = createSelector(spec);
      bench(name, () => {
        selector.select(request, all, 0.5);
      });
    }
    const selector = createSelector("kv");
    bench("kv with a preferred taint", () => {
      selector.select(preferring, all, 0.5);
    });
  });
}
