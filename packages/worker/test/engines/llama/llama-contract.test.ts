import { afterAll, beforeAll, describe, expect } from "vitest";
import { engineContract } from "../../engine-contract.ts";
import { installedLlama, llamaTitle, TinyModel } from "./llama-harness.ts";

const patience = { timeout: 20_000, interval: 5 };

describe.skipIf(installedLlama === undefined)(`llama${llamaTitle}`, { timeout: 30_000 }, () => {
  let model: TinyModel;

  beforeAll(async () => {
    model = await TinyModel.create();
  });

  afterAll(async () => {
    await model?.close();
  });

  engineContract("LlamaEngine", async () => {
    const { engine } = model.engine();
    return {
      engine,
      vocabularySize: 640,
      until: async (condition) => {
        await expect.poll(condition, patience).toBe(true);
      },
      settle: async () => {
        await expect
          .poll(() => engine.load(), patience)
          .toMatchObject({ runningSequences: 0, waitingSequences: 0, activeBlocks: 0 });
      },
    };
  });
});
