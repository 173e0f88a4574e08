import { describe, expect, it } from "vitest";
import { makeFeedCounts } from "../../src/feed/feed-counts.ts";

describe("makeFeedCounts", () => {
  it("begins at zero, for each who counts by itself", () => {
    const one = makeFeedCounts();
    one.batches += 1;

    expect(new Set(Object.values(makeFeedCounts()))).toEqual(new Set([0]));
  });
});
