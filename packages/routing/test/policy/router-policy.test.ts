import { defaultLoadTracking } from "@baton/kv-router";
import { expect, it } from "vitest";
import { trackingOf } from "../../src/policy/router-policy.ts";

const all = { ...defaultLoadTracking, trackOutputBlocks: true };

it("never counts active blocks of a prefill pool", () => {
  expect(trackingOf("prefill", all)).toEqual({
    ...all,
    trackActiveBlocks: false,
    trackOutputBlocks: false,
  });
});

it.each(["decode", "aggregated"] as const)("counts what it is told to of a %s pool", (stage) => {
  expect(trackingOf(stage, all)).toEqual(all);
});
