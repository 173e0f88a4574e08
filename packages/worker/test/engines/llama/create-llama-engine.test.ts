import { RealClock, SeededRandom, silentLogger } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createLlamaEngine } from "../../../src/engines/llama/create-llama-engine.ts";
import { installedLlama } from "./llama-harness.ts";

const deps = { clock: new RealClock(), random: new SeededRandom(1), log: silentLogger() };

describe("createLlamaEngine", () => {
  it("names what is missing, and how to get it", async () => {
    const attempt = createLlamaEngine({ model: "/no/such/model.gguf" }, deps);
    await expect(attempt).rejects.toMatchObject({ code: "config_invalid" });
    const hint = installedLlama === undefined ? "baton engine install llama" : "--model";
    await expect(attempt).rejects.toThrow(hint);
  });
});
