import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { clientError } from "../../src/relay/client-error.ts";

describe("what a client is told", () => {
  it("is the code itself if clients know it", () => {
    const error = new ServingError("kv_transfer_failed", { workerId: "w1" });

    expect(clientError(error)).toBe(error);
  });

  it.each([
    ["no_responders", "worker_lost"],
    ["cancelled", "engine_failed"],
    ["version_mismatch", "internal"],
    ["config_invalid", "internal"],
  ] as const)("is for %s: %s", (inner, outer) => {
    expect(clientError(new ServingError(inner)).code).toBe(outer);
  });
});
