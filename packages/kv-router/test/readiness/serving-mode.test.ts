import { activationStates } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { servingMode } from "../../src/index.ts";
import { ambiguousTypes } from "../../src/readiness/serving-mode.ts";
import { workerSet } from "../support.ts";

const prefill = workerSet("prefill");
const decode = workerSet("decode");
const aggregated = workerSet("aggregated");
const freeDecode = workerSet("decode", { needs: [] });
const serving = (mode: string) => ({ kind: "serving", mode });

describe("with workers of several types", () => {
  it("is disaggregated while the prefill target is active", () => {
    expect(servingMode([prefill, decode, aggregated], "active")).toEqual(serving("disaggregated"));
    expect(servingMode([prefill, freeDecode])).toEqual(serving("disaggregated"));
  });

  it("is aggregated while there is no active target", () => {
    expect(servingMode([decode, aggregated])).toEqual(serving("aggregated"));
    expect(servingMode([prefill, aggregated])).toEqual(serving("aggregated"));
    expect(servingMode([prefill, decode, aggregated], "pending")).toEqual(serving("aggregated"));
    expect(servingMode([freeDecode, aggregated])).toEqual(serving("aggregated"));
    expect(servingMode([aggregated, workerSet("aggregated", { set: "a2" })])).toEqual(
      serving("aggregated"),
    );
  });

  it("is decode-only when no decode worker needs peers and there is no target", () => {
    expect(servingMode([freeDecode])).toEqual(serving("decode-only"));
    expect(servingMode([freeDecode, workerSet("prefill", { live: 0 })])).toEqual(
      serving("decode-only"),
    );
  });

  it("waits for a route that is being built instead of serving decode-only", () => {
    expect(servingMode([prefill, freeDecode], "pending")).toEqual({ kind: "activating" });
    expect(servingMode([prefill, decode], "none")).toEqual({ kind: "activating" });
  });

  it.each([
    { what: "nobody", sets: [] },
    { what: "decode that needs prefill", sets: [decode] },
    { what: "prefill alone", sets: [workerSet("prefill", { needs: [] })] },
    { what: "two prefill sets", sets: [prefill, workerSet("prefill", { set: "p2" }), decode] },
    {
      what: "two decode sets, aggregated or not",
      sets: [freeDecode, workerSet("decode", { set: "d2", needs: [] }), aggregated],
    },
    { what: "dead sets", sets: [workerSet("aggregated", { live: 0 })] },
    {
      what: "aggregated workers that need what is not there",
      sets: [workerSet("aggregated", { needs: [["prefill"]] })],
    },
  ])("is not ready with $what", ({ sets }) => {
    expect(servingMode(sets)).toEqual({ kind: "not_ready" });
  });
});

it("never depends on sets without a live worker, nor on the order of sets", () => {
  const set = fc.record({
    workerType: fc.constantFrom("prefill" as const, "decode" as const, "aggregated" as const),
    set: fc.constantFrom("x", "y"),
    live: fc.integer({ min: 0, max: 2 }),
    needs: fc.constantFrom(
      [],
      [["prefill" as const]],
      [["decode" as const]],
      [["aggregated" as const], []],
    ),
    conflicts: fc.constant([]),
  });
  const sets = fc.uniqueArray(set, { selector: (one) => `${one.workerType}/${one.set}` });
  fc.assert(
    fc.property(sets, fc.constantFrom(...activationStates), (all, activation) => {
      const outcome = servingMode(all, activation);

      const live = all.filter((one) => one.live > 0);
      expect(servingMode(live.toReversed(), activation)).toEqual(outcome);
      if (outcome.kind === "serving" && outcome.mode === "disaggregated") {
        expect(activation).toBe("active");
        expect(live.filter((one) => one.workerType !== "aggregated")).toHaveLength(2);
      }
      if (outcome.kind === "serving" && outcome.mode === "decode-only") {
        expect(live.every((one) => one.workerType !== "aggregated" || one.needs.length > 0)).toBe(
          true,
        );
      }
      if (ambiguousTypes(all).length > 0) expect(outcome.kind).toBe("not_ready");
    }),
    { numRuns: 500 },
  );
});
