import { readOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { frontendOptions } from "../src/config.ts";

describe("the options of a Frontend", () => {
  it("have defaults for all, and come from flags and the environment", () => {
    const config = readOptions(frontendOptions, {
      flags: { port: "0" },
      env: { BATON_FRONTEND_MAX_IN_FLIGHT: "5" },
    });

    expect(config).toMatchObject({
      host: "127.0.0.1",
      port: 0,
      maxBodyBytes: 8 * 1024 * 1024,
      maxInFlight: 5,
      overloadStatus: 529,
      busGraceMs: 10_000,
      routerNoticeMs: 1_500,
      batchMs: 5,
    });
  });

  it("hold transitions for no longer than 5 ms", () => {
    const flags = { "batch-ms": "6" };

    expect(() => readOptions(frontendOptions, { flags, env: {} })).toThrow(/batch-ms/);
  });
});
