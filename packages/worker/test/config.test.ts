import { readOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { modelNameOf, workerOptions } from "../src/index.ts";

const read = (flags: Readonly<Record<string, unknown>>, env = {}) =>
  readOptions(workerOptions, { flags, env });

describe("a worker's options", () => {
  it("have defaults that start a mock worker", () => {
    expect(read({})).toMatchObject({
      workerType: "aggregated",
      engine: "mock",
      blocks: 16_384,
      blockSize: 64,
      maxBatchedTokens: 8_192,
      speedup: 1,
      transferGbps: 0,
      transferHost: "127.0.0.1",
      transferPort: 0,
      topology: {},
    });
  });

  it("take topology domains, several times or by commas", () => {
    expect(read({ topology: ["rack=r1", "zone=a=b"] }).topology).toEqual({
      rack: "r1",
      zone: "a=b",
    });
    expect(read({}, { BATON_WORKER_TOPOLOGY: "rack=r2,zone=z" }).topology).toEqual({
      rack: "r2",
      zone: "z",
    });
  });

  it("take taints, several times or by commas", () => {
    expect(read({ taint: ["spot", "gpu=h100"] }).taint).toEqual(["spot", "gpu=h100"]);
    expect(read({}, { BATON_WORKER_TAINT: "spot,slow" }).taint).toEqual(["spot", "slow"]);
    expect(read({}).taint).toEqual([]);
  });

  it.each([
    [{ topology: ["rack"] }, "topology"],
    [{ taint: ["baton.topology/rack=r1"] }, "taint"],
    [{ taint: ["two words"] }, "taint"],
    [{ "kv-transfer-enforcement": "maybe" }, "kv-transfer-enforcement"],
    [{ "kv-transfer-preferred-weight": 2 }, "kv-transfer-preferred-weight"],
    [{ "worker-type": "other" }, "worker-type"],
    [{ blocks: 0 }, "blocks"],
    [{ blocks: 2 ** 53 - 1 }, "blocks"],
    [{ "transfer-port": 70_000 }, "transfer-port"],
  ])("refuse %j", (flags, name) => {
    expect(() => read(flags)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringContaining(name),
      }),
    );
  });

  it.each([
    [{ "model-name": "a/b" }, "a/b"],
    [{ model: "/models/Tiny-1B.Q4.gguf", engine: "llama" }, "Tiny-1B.Q4"],
    [{ model: "/tokenizers/my-model/" }, "my-model"],
    [{}, "mock"],
  ])("%j name the model %s", (flags, name) => {
    expect(modelNameOf(read(flags))).toBe(name);
  });
});
