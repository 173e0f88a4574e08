import type { RoutingCore } from "@baton/kv-router";
import { actorId, requestId, workerId } from "@baton/protocol";
import { type PolicyStage, parsePolicyFile, resolvePolicy } from "@baton/routing";
import { describe, expect, it } from "vitest";
import { coreOfStage } from "../src/replay-policy.ts";

const sequenceHashes = new Uint8Array(16).fill(7, 8);
const worker = { workerId: workerId("w"), generation: 1, dpRank: 0 };

function coreWith(text: string, stage: PolicyStage = "aggregated"): RoutingCore {
  const policy = resolvePolicy({}, parsePolicyFile(text, "policy.yaml"));
  return coreOfStage(stage, { policy, modules: new Map(), stamp: null });
}

/** Blocks that the core believes a worker to hold, once a prompt of two was sent there. */
function believedAfterBooking(core: RoutingCore, laterMs: number): number | undefined {
  core.setWorkers([
    {
      ...worker,
      id: worker.workerId,
      workerType: "aggregated",
      dpStartRank: 0,
      dpSize: 1,
      taints: new Set(),
      draining: false,
      maxSequences: 9,
      maxBatchedTokens: null,
      totalBlocks: 10,
      blockSize: 4,
    },
  ]);
  core.book({
    ...worker,
    bookingId: requestId("r"),
    frontendId: actorId("f"),
    frontendGeneration: 1,
    blocks: 2,
    promptTokens: 8,
    prefillTokens: 8,
    sequenceHashes,
    expectedOutputTokens: null,
    atMs: 0,
  });
  const request = { promptTokens: 8, blockSize: 4, promptBlocks: 2, sequenceHashes };
  const chosen = core.choose(
    { ...request, nowMs: laterMs, stage: "aggregated", workerType: "aggregated" },
    0,
  );
  return chosen.kind === "selected" ? chosen.overlapBlocks : undefined;
}

describe("the core of a policy file's stage", () => {
  it("follows KV events where caches are looked at", () => {
    const plain = "router: {use_kv_events: true}";

    expect(coreWith(plain).index).not.toBeNull();
    expect(coreWith(plain, "prefill").index).not.toBeNull();
    expect(coreWith(plain, "decode").index).toBeNull();
    expect(coreWith("router: {use_kv_events: false}").index).toBeNull();
  });

  it("believes what was sent somewhere to be there, as long as the file says", () => {
    const bridged = "router: {router_predicted_ttl_secs: 5}";
    const guessed = "router: {use_kv_events: false, router_ttl_secs: 9}";
    const byRoom = "router: {use_kv_events: false, router_approximate_cache_policy: lru}";
    const after = (text: string, laterMs: number) => believedAfterBooking(coreWith(text), laterMs);

    expect([after(bridged, 4_000), after(bridged, 6_000)]).toEqual([2, 0]);
    expect([after(guessed, 8_000), after(guessed, 10_000)]).toEqual([2, 0]);
    expect(after(byRoom, 1e9)).toBe(2);
    expect(after("router: {use_kv_events: true}", 0)).toBe(0);
  });
});
