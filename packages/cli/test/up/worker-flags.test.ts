import { describe, expect, it } from "vitest";
import { engineFlags, upWorkerOptions } from "../../src/up/worker-flags.ts";

const llama = { engine: "llama", model: "/models/m.gguf", modelName: "m" } as const;
const pair = { prefill: 1, decode: 1, aggregated: 0 };
const alone = { prefill: 0, decode: 0, aggregated: 1 };

describe("engineFlags", () => {
  it("gives one aggregated worker as many threads as each of a pair, since sums depend on them", () => {
    expect(engineFlags(llama, {}, {}, alone).threads).toBe(
      engineFlags(llama, {}, {}, pair).threads,
    );
  });

  it("passes on what was given, the flag before the variable", () => {
    const env = { BATON_THREADS: "7", BATON_BLOCKS: "64" };

    expect(engineFlags(llama, { threads: "3" }, env, pair)).toEqual({
      engine: "llama",
      "model-name": "m",
      model: "/models/m.gguf",
      threads: "3",
      blocks: "64",
    });
  });

  it("leaves threads and model out for the mock engine's own tokenizer", () => {
    const mock = { engine: "mock", model: null, modelName: "mock" } as const;

    expect(engineFlags(mock, {}, {}, pair)).toEqual({ engine: "mock", "model-name": "mock" });
  });
});

describe("upWorkerOptions", () => {
  it("are those of an engine, under variables of `up`", () => {
    const names = upWorkerOptions.fields.map(({ flag, env }) => `${flag} ${env}`);

    expect(names).toContain("mock-prefill-ms BATON_MOCK_PREFILL_MS");
    expect(names.some((name) => name.startsWith("worker-type"))).toBe(false);
  });
});
