import { describe, expect, it } from "vitest";
import { asArguments } from "../../src/up/actor-process.ts";

describe("asArguments", () => {
  it("writes switches alone, values behind their flag, and lists flag by flag", () => {
    expect(
      asArguments({
        engine: "mock",
        "decode-only": true,
        quiet: false,
        topology: ["rack=1", "zone=a b"],
      }),
    ).toEqual([
      "--engine",
      "mock",
      "--decode-only",
      "--topology",
      "rack=1",
      "--topology",
      "zone=a b",
    ]);
  });
});
