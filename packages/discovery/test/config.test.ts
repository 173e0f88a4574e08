import { readOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { discoveryOptions } from "../src/config.ts";

describe("discoveryOptions", () => {
  it("has defaults, and takes flags and environment", () => {
    const env = { BATON_DISCOVERY_LOST_OWNS_MS: "5" };

    expect(readOptions(discoveryOptions, { flags: { "max-workers": "7" }, env })).toEqual({
      lostOwnsMs: 5,
      waitingClaimMs: 15_000,
      forgetAfterMs: 600_000,
      maxWorkers: 7,
    });
  });

  it("refuses a limit of no workers", () => {
    const read = () => readOptions(discoveryOptions, { flags: { "max-workers": "0" }, env: {} });

    expect(read).toThrow(/--max-workers/);
  });
});
