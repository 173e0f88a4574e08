import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RealClock } from "@baton/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChildClient } from "../../../src/engines/llama/child-client.ts";
import { startEngineChild } from "../../../src/engines/llama/child-process.ts";
import type { RunCommand, StepEvent } from "../../../src/engines/llama/child-protocol.ts";
import { readStateLayout } from "../../../src/engines/llama/state-file.ts";
import { installedLlama, llamaTitle, promptOf, TinyModel } from "./llama-harness.ts";

describe.skipIf(installedLlama === undefined)(`the child${llamaTitle}`, { timeout: 60_000 }, () => {
  let model: TinyModel;
  let client: ChildClient;
  const steps: StepEvent[] = [];
  let lastRun = 0;

  beforeAll(async () => {
    model = await TinyModel.create();
    client = new ChildClient(
      {
        clock: new RealClock(),
        startChild: startEngineChild,
        env: {},
        silentMs: 30_000,
        loadMs: 60_000,
      },
      { onStep: (step) => steps.push(step), onLog() {}, onLost() {} },
    );
    const loaded = await client.load({
      kind: "load",
      moduleUrl: installedLlama!.moduleUrl,
      modelPath: model.path(1),
      contextSize: 512,
      sequences: 2,
      threads: 1,
      chunkTokens: 64,
      stepTokens: 66,
    });
    expect(loaded).toMatchObject({ contextSize: 512, vocabularySize: 640 });
  }, 120_000);

  afterAll(async () => {
    client?.close();
    await model?.close();
  });

  async function run(command: Partial<RunCommand>): Promise<number[]> {
    lastRun += 1;
    const id = lastRun;
    const tokens = Uint32Array.from(promptOf(100, 1));
    await client.run({
      kind: "run",
      run: id,
      slot: 0,
      tokens,
      promptTokens: tokens.length,
      kept: 0,
      sampling: {
        temperature: 0,
        topK: 0,
        topP: 1,
        minP: 0,
        repetitionPenalty: 1,
        frequencyPenalty: 0,
        presencePenalty: 0,
        logitBias: [],
        seed: 0,
        minTokens: 0,
        ignoreEos: true,
        stopTokenIds: [],
        logprobs: null,
        grammar: null,
      },
      choiceSeeds: null,
      promptLogprobs: null,
      maxTokens: 5,
      saveTo: null,
      ...command,
    });
    const outputs = steps.flatMap((step) => step.outputs);
    return outputs.filter((output) => output.run === id).map(({ token }) => token);
  }

  it("computes in chunks, and goes on in another sequence from a saved state", async () => {
    const whole = await run({});
    expect(steps[0]?.held).toEqual([[1, 64]]);
    const path = join(model.folder, "state");
    const [first] = await run({ saveTo: path });
    const layout = await readStateLayout(path);
    expect(layout.streamCount).toBe(2);
    expect([...layout.tokens]).toEqual(promptOf(100, 1));
    await client.restore(1, path, 100);
    const tokens = Uint32Array.from([...promptOf(100, 1), first!]);
    const rest = await run({ slot: 1, tokens, promptTokens: 100, kept: 100 });
    expect([first, ...rest]).toEqual(whole);
  });

  it("serves on in a sequence that was given a broken state", async () => {
    const path = join(model.folder, "broken");
    await writeFile(path, Buffer.alloc(5000, 1));
    const before = await run({ slot: 1 });
    await expect(client.restore(1, path, 10)).rejects.toMatchObject({ code: "engine_failed" });
    expect(await run({ slot: 1 })).toEqual(before);
  });

  it("keeps a prefix of what a sequence holds", async () => {
    const whole = await run({ slot: 1 });
    steps.length = 0;
    expect(await run({ slot: 1, kept: 80 })).toEqual(whole);
    expect(steps[0]?.held[0]?.[1]).toBe(100);
  });

  it("biases tokens, those of the end of a generation too", async () => {
    const sampling = {
      temperature: 0.8,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      seed: 1,
      minTokens: 0,
      ignoreEos: false,
      stopTokenIds: [],
      logprobs: null,
      grammar: null,
    };
    expect(await run({ sampling: { ...sampling, logitBias: [[99, 500]] } })).toEqual(
      Array(5).fill(99),
    );
    expect(await run({ sampling: { ...sampling, logitBias: [[2, 500]] } })).toEqual([2]);
  });
});
