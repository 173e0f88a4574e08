import type { WorkerView } from "@baton/cluster-view";
import { Decode, Generate } from "@baton/protocol";
import { registrationOf, routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { decodePolicy } from "../src/policy.ts";

const registration = registrationOf("d-1");
const chosen = {
  kind: "selected",
  workerId: routeDecode("r1").frontendId,
  generation: registration.generation,
  dpRank: 2,
  overlapBlocks: 0,
  cachedTokens: 0,
  bestOverlapBlocks: 0,
} as const;
const worker: WorkerView = {
  id: chosen.workerId,
  generation: registration.generation,
  registration,
  workerType: "decode",
  state: "live",
  load: null,
};
const overrides = { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false };

describe("the command for a decode worker", () => {
  it("is `decode` with the ticket unopened when KV is staged", () => {
    const request = routeDecode("r1", { handoff: new Uint8Array([9, 9]) });

    const { verb, payload } = decodePolicy.command(request, chosen, worker);

    expect(verb).toBe("decode");
    expect(Decode.decode(payload)).toEqual({
      requestId: "r1",
      frontendId: "f-1",
      frontendGeneration: 1,
      stream: 7,
      generation: registration.generation,
      dpRank: 2,
      blockHashes: request.blockHashes,
      sequenceHashes: request.sequenceHashes,
      work: request.work,
      traceparent: null,
      handoff: new Uint8Array([9, 9]),
    });
  });

  it("is `generate` without a ticket, for a decode or an aggregated worker alike", () => {
    const request = routeDecode("r1", { pool: "aggregated" });

    const { verb, payload } = decodePolicy.command(request, chosen, worker);

    expect(verb).toBe("generate");
    expect(Generate.decode(payload)).toMatchObject({ requestId: "r1", dpRank: 2 });
  });
});

describe("the rules of a decode", () => {
  it("are the request's own, with the overrides that came with a prefill", () => {
    const constraints = { requiredTaints: ["t"], preferredTaints: {} };

    expect(decodePolicy.rules(routeDecode("r1", { rules: { constraints }, overrides }))).toEqual({
      constraints,
      overrides,
    });
    expect(decodePolicy.rules(routeDecode("r1"))).toEqual({});
  });

  it("keep a request's own settings where the overrides say nothing", () => {
    const own = { overlapScoreCredit: 2, routerTemperature: 0.5 };

    expect(decodePolicy.rules(routeDecode("r1", { rules: { overrides: own } }))).toEqual({
      overrides: own,
    });
    expect(decodePolicy.rules(routeDecode("r1", { rules: { overrides: own }, overrides }))).toEqual(
      {
        overrides: { ...overrides, routerTemperature: 0.5 },
      },
    );
  });

  it("name the pool, and take a ticket for staged KV", () => {
    const staged = routeDecode("r1", { handoff: new Uint8Array([1]) });
    const aggregated = routeDecode("r2", { pool: "aggregated" });

    expect([staged, aggregated].map((request) => decodePolicy.workerType(request))).toEqual([
      "decode",
      "aggregated",
    ]);
    expect([staged, aggregated].map((request) => decodePolicy.isStaged(request))).toEqual([
      true,
      false,
    ]);
  });
});

describe("the KV events of decode workers", () => {
  const of = (id: string, changes: Parameters<typeof registrationOf>[1] = {}): WorkerView => {
    const registered = registrationOf(id, changes);
    return { ...worker, workerType: registered.workerType, registration: registered };
  };
  const uses = (type: "decode" | "aggregated", ...workers: readonly WorkerView[]) =>
    decodePolicy.usesKvEvents(type, workers);

  it("matter only where a worker computes prompts itself", () => {
    expect(uses("decode", of("d-1"), of("p-1"))).toBe(false);
    expect(uses("decode", of("d-1"), of("d-2", { needs: [] }))).toBe(true);
    expect(uses("aggregated", of("a-1"))).toBe(true);
    expect(uses("aggregated", of("d-2", { needs: [] }))).toBe(false);
    expect(uses("decode", of("a-1"))).toBe(false);
    expect(uses("decode")).toBe(false);
  });

  it("are looked at for a whole generation; with a ticket the choice is for its second half alone", () => {
    const staged = routeDecode("r1", { handoff: new Uint8Array([1]) });

    expect([decodePolicy.stage(staged), decodePolicy.stage(routeDecode("r2"))]).toEqual([
      "decode",
      "aggregated",
    ]);
  });
});
