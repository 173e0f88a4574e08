import { describe, expect, it } from "vitest";
import { pack } from "../../src/codec.ts";
import { KvFeed, KvPositions } from "../../src/index.ts";

describe("KvPositions", () => {
  it.each([
    ["no array", 5],
    ["no worker", [7, 1, 0, 5]],
    ["no generation", ["w", "1", 0, 5]],
    ["a sequence that is no count", ["w", 1, 0, -1]],
  ])("refuses a rank that is %s", (_what, rank) => {
    expect(() => KvPositions.decode(pack([1, 2, [rank]]))).toThrow(
      expect.objectContaining({ code: "malformed_message" }),
    );
  });
});

describe("KvFeed", () => {
  it("refuses a kind that is not known", () => {
    expect(() => KvFeed.decode(pack([1, 1, "dump", "w", 1, 0, 5, new Uint8Array()]))).toThrow(
      expect.objectContaining({ code: "malformed_message" }),
    );
  });
});
