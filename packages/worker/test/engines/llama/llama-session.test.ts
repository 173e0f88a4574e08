import type { TokenLogprobs } from "@baton/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  disaggregate,
  type Generation,
  installedLlama,
  job,
  llamaTitle,
  promptOf,
  soon,
  type TestEngine,
  TinyModel,
} from "./llama-harness.ts";

/** Closer than this, two logits may change places with the shape of a batch. */
const closeLogprobs = 0.05;

/** Fails unless the output is the lone one, up to a place where the runner-up was as good. */
function expectNoForeignToken(lone: Generation, together: Generation, others: Generation[]): void {
  const index = together.tokens.findIndex((token, at) => token !== lone.tokens[at]);
  if (index === -1) return;
  const there: TokenLogprobs | null | undefined = lone.outputs[index]?.logprobs?.[0];
  const [, second] = there?.top ?? [];
  const foreign = others.map(({ tokens }) => tokens[index]);
  expect(together.tokens[index], `token ${index}; others have ${foreign}`).toBe(second?.[0]);
  expect(there!.chosen - second![1]).toBeLessThan(closeLogprobs);
}

describe.skipIf(installedLlama === undefined)(
  `LlamaEngine under load${llamaTitle}`,
  { timeout: 60_000 },
  () => {
    let model: TinyModel;
    let engine: TestEngine;
    let prefill: TestEngine;

    beforeAll(async () => {
      model = await TinyModel.create();
      [engine, prefill] = await Promise.all([model.started(), model.started()]);
    }, 120_000);

    afterAll(async () => {
      await model?.close();
    });

    it("puts no token of one sequence into another, four at once, five rounds", async () => {
      const params = { maxTokens: 40, logprobs: 2 };
      const prompts = [promptOf(20, 1), promptOf(70, 2), promptOf(130, 3), promptOf(5, 4)];
      const lone: Generation[] = [];
      for (const prompt of prompts) lone.push(await engine.generate(job(prompt, params)));
      for (let round = 0; round < 5; round++) {
        engine.steps.length = 0;
        const together = await Promise.all(
          prompts.map((prompt) => engine.generate(job(prompt, params))),
        );
        expect(Math.max(...engine.steps.map((step) => step.length))).toBe(4);
        for (const [index, generation] of together.entries()) {
          const others = lone.filter((_, other) => other !== index);
          expectNoForeignToken(lone[index]!, generation, others);
        }
      }
    });

    it("puts no foreign token into sequences that are imported while others decode", async () => {
      const params = { maxTokens: 40, logprobs: 2 };
      const prompts = [11, 12, 13, 14, 15, 16, 17, 18].map((seed) => promptOf(7 * seed, seed));
      const lone: Generation[] = [];
      for (const prompt of prompts) lone.push(await engine.generate(job(prompt, params)));
      const together = await Promise.all(
        prompts.map((prompt) => disaggregate(prefill, engine, job(prompt, params))),
      );
      for (const [index, generation] of together.entries()) {
        const others = lone.filter((_, other) => other !== index);
        expectNoForeignToken(lone[index]!, generation, others);
      }
    });

    it("imports between the steps of others, without waiting for their end", async () => {
      const busy = [21, 22, 23].map((seed) =>
        engine.generate(job(promptOf(100, seed), { maxTokens: 300 })),
      );
      await expect.poll(() => engine.engine.load().runningSequences, soon).toBe(3);
      await expect.poll(() => engine.engine.load().waitingPrefillTokens, soon).toBe(0);
      engine.steps.length = 0;
      const imported = await disaggregate(prefill, engine, job(promptOf(200, 24)));
      const own = imported.outputs[0]!.requestId;
      const first = engine.steps.findIndex((step) =>
        step.some(({ requestId }) => requestId === own),
      );
      const others = engine.steps.slice(first).filter((step) => step.length > 1);
      expect(others.length, "steps shared with the others").toBeGreaterThan(5);
      const all = await Promise.all(busy);
      expect(all.map(({ tokens }) => tokens.length)).toEqual([300, 300, 300]);
    });

    it("lets more requests than sequences wait their turn", async () => {
      const all = await Promise.all(
        Array.from({ length: 9 }, (_, index) => engine.generate(job(promptOf(33, 30 + index)))),
      );
      expect(all.map(({ tokens }) => tokens.length)).toEqual(all.map(() => 12));
      await expect
        .poll(() => engine.engine.load(), soon)
        .toMatchObject({ runningSequences: 0, waitingSequences: 0, activeBlocks: 0 });
    });

    it("stops an aborted generation and frees its sequence", async () => {
      const aborted = job(promptOf(40, 50), { maxTokens: 900 });
      const seen: number[] = [];
      void engine.collect(aborted, () => engine.engine.generate(aborted));
      await expect
        .poll(
          () => engine.steps.flat().some(({ requestId }) => requestId === aborted.requestId),
          soon,
        )
        .toBe(true);
      engine.engine.abort(aborted.requestId);
      await expect.poll(() => engine.engine.load().activeBlocks, soon).toBe(0);
      engine.steps.length = 0;
      const next = await engine.generate(job(promptOf(40, 51)));
      seen.push(...next.tokens);
      expect(seen).toHaveLength(12);
      const late = engine.steps.flat().filter(({ requestId }) => requestId === aborted.requestId);
      expect(late).toEqual([]);
    });

    it("aborts what waits, what prefills, what is staged and what is imported", async () => {
      const staged = job(promptOf(40, 60));
      await prefill.prefill(staged);
      const running = job(promptOf(900, 61));
      const waiting = Array.from({ length: 6 }, (_, index) => job(promptOf(50, 62 + index)));
      prefill.engine.prefill(running);
      for (const work of waiting) prefill.engine.prefill(work);
      await expect.poll(() => prefill.engine.load().runningSequences, soon).toBeGreaterThan(0);
      for (const { requestId } of [staged, running, ...waiting]) prefill.engine.abort(requestId);
      await expect
        .poll(() => prefill.engine.load(), soon)
        .toMatchObject({
          runningSequences: 0,
          waitingSequences: 0,
          activeBlocks: 0,
          waitingPrefillTokens: 0,
        });
      const work = job(promptOf(40, 70));
      const incoming = { ...work, firstTokens: [{ id: 9, logprobs: null }] };
      await engine.engine.prepareImport(incoming);
      engine.engine.abort(work.requestId);
      const part = engine.engine.importPart(work.requestId, 0, new Uint8Array(16 * 512));
      await expect(part).rejects.toMatchObject({ code: "cancelled" });
      await expect.poll(() => engine.engine.load().activeBlocks, soon).toBe(0);
    });

    it("rejects an aborted prepareImport with `cancelled`", async () => {
      const holders = Array.from({ length: 4 }, (_, index) =>
        job(promptOf(40, 80 + index), { maxTokens: 900 }),
      );
      for (const holder of holders) engine.engine.generate(holder);
      const work = job(promptOf(40, 90));
      const plan = engine.engine.prepareImport({
        ...work,
        firstTokens: [{ id: 9, logprobs: null }],
      });
      engine.engine.abort(work.requestId);
      await expect(plan).rejects.toMatchObject({ code: "cancelled" });
      for (const { requestId } of holders) engine.engine.abort(requestId);
      await expect.poll(() => engine.engine.load().activeBlocks, soon).toBe(0);
    });

    it("waits with a prefill until the store has room for its KV", async () => {
      const tight = await model.started({ maxSequences: 2, contextLength: 256, storeBytes: 1 });
      const first = job(promptOf(150, 95));
      await tight.prefill(first);
      const second = tight.prefill(job(promptOf(150, 96)));
      await expect.poll(() => tight.engine.load().waitingSequences, soon).toBe(1);
      tight.engine.release(first.requestId);
      expect((await second).staged?.blocks).toBe(9);
    });
  },
);
