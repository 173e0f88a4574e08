import type { NoneReason, Selection } from "@baton/kv-router";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../src/refusal.ts";

function none(
  reason: NoneReason,
  counts: Extract<Selection, { kind: "none" }>["detail"]["counts"] = {},
): Extract<Selection, { kind: "none" }> {
  return { kind: "none", reason, detail: { counts, missingTaints: ["t"], text: "why" } };
}

describe("refusalOf", () => {
  it("is none while waiting may help", () => {
    expect(refusalOf(none("all_busy", { at_limit: 3 }), false)).toBeNull();
  });

  it("spares workers that are all over a threshold, unless the KV is staged already", () => {
    const overloaded = none("all_busy", { overloaded: 2 });

    expect(refusalOf(overloaded, false)).toMatchObject({ code: "overloaded" });
    expect(refusalOf(overloaded, true)).toBeNull();
    expect(refusalOf(none("all_busy", { overloaded: 1, at_limit: 1 }), false)).toBeNull();
    expect(refusalOf(none("all_busy", { overloaded: 1, refusing: 1 }), false)).toBeNull();
  });

  it.each([
    { selection: none("no_workers"), code: "not_ready" },
    { selection: none("all_excluded", { draining: 2 }), code: "not_ready" },
    {
      selection: none("all_excluded", { draining: 1, not_allowed: 1 }),
      code: "no_worker_available",
    },
    { selection: none("all_excluded", { missing_taint: 1 }), code: "no_worker_available" },
  ])("is $code for $selection.reason of $selection.detail.counts", ({ selection, code }) => {
    expect(refusalOf(selection, false)).toMatchObject({ code, details: { problem: "why" } });
  });

  it("is our own fault when the policy failed", () => {
    expect(refusalOf({ kind: "policy_failed", text: "why" }, false)).toMatchObject({
      code: "internal",
      details: { problem: "why" },
    });
  });

  it("names the taints that are missing", () => {
    expect(
      refusalOf(none("all_excluded", { missing_taint: 1 }), false)?.details.missingTaints,
    ).toEqual(["t"]);
  });

  it.each([
    { fault: "unknown_worker", code: "unknown_worker" },
    { fault: "rank_out_of_range", code: "invalid_request" },
  ] as const)("is the client's fault for the pin fault $fault", ({ fault, code }) => {
    expect(refusalOf({ kind: "invalid_pin", fault, text: "why" }, false)).toMatchObject({ code });
  });
});
