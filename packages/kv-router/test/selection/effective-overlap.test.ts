import { expect, it } from "vitest";
import { cachedTokensOf } from "../../src/selection/effective-overlap.ts";

it("weighs blocks by tier and rounds to whole tokens", () => {
  const overlap = { overlapBlocks: 2, hostOverlapBlocks: 3, diskOverlapBlocks: 9 };

  expect(cachedTokensOf(overlap, 16, { host: 0.5, disk: 0.25 })).toBe(92);
  expect(cachedTokensOf(overlap, 5, { host: 0.5, disk: 0.25 })).toBe(29);
});
