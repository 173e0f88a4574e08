import { SeededRandom, silentLogger, VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import type { Engine } from "../src/engine.ts";
import { createEngine } from "../src/engine-registry.ts";
import { builtInEngines } from "../src/index.ts";
import { workerConfig } from "./support/worker-cluster.ts";

const deps = { clock: new VirtualClock(), random: new SeededRandom(1), log: silentLogger() };

describe("createEngine", () => {
  it("loads just the engine that is asked for", async () => {
    const loaded: string[] = [];
    const made = {} as Engine;
    const registry = {
      one: async () => {
        loaded.push("one");
        return () => made;
      },
      two: async () => {
        loaded.push("two");
        return () => made;
      },
    };

    expect(await createEngine(registry, workerConfig({ engine: "two" }), deps)).toBe(made);
    expect(loaded).toEqual(["two"]);
  });

  it.each(["three", "constructor", "__proto__"])("names the known ones for %s", async (engine) => {
    await expect(
      createEngine(builtInEngines, workerConfig({ engine }), deps),
    ).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("mock, llama"),
    });
  });

  it("has the mock engine", async () => {
    const engine = await createEngine(builtInEngines, workerConfig(), deps);

    expect(engine.load().totalBlocks).toBe(256);
  });
});
