import type { GenerationParams, TokenLogprobs } from "@baton/protocol";
import { createTokenizer, decodeTokenizerArtifact } from "@baton/text";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StepOutput } from "../../../src/engine.ts";
import {
  disaggregate,
  installedLlama,
  job,
  llamaTitle,
  promptOf,
  soon,
  type TestEngine,
  TinyModel,
} from "./llama-harness.ts";

const digits = 4;
const place = { type: "object", properties: { city: { type: "string", maxLength: 6 } } };
const schema = JSON.stringify({
  type: "object",
  properties: {
    kind: { enum: ["cat", "dog", "owl"] },
    tags: { type: "array", items: { type: "boolean" }, maxItems: 3 },
    home: { anyOf: [place, { type: "null" }] },
  },
  required: ["kind", "home"],
});
const grammar = { kind: "json_schema", schema } as const;

const manyStops = Array.from({ length: 300 }, (_, index) => 2 * index + 3);
const wholeText = { grammar, maxTokens: 150, ignoreEos: false };
const sampled = { temperature: 1, seed: 9 };

const options: readonly (readonly [what: string, Partial<GenerationParams>])[] = [
  ["three choices", { n: 3, temperature: 0.9, seed: 5 }],
  ["greedy choices with logprobs", { n: 2, logprobs: 3 }],
  ["choices with all", { n: 3, ...sampled, logprobs: 1, topP: 0.9, presencePenalty: 0.5 }],
  ["prompt logprobs", { promptLogprobs: 3 }],
  ["all logprobs of choices", { promptLogprobs: 0, logprobs: 0, n: 2, ...sampled }],
  ["a bias", { logitBias: { "50": 4, "51": -100, "2": 3 }, ignoreEos: false }],
  ["a bias, sampled", { logitBias: { "50": 4, "60": 4 }, ...sampled, topK: 40 }],
  ["a late end", { logitBias: { "2": 50 }, ignoreEos: false, minTokens: 5 }],
  ["late stop tokens", { minTokens: 6, stopTokenIds: manyStops }],
  ["penalties", { repetitionPenalty: 1.3, frequencyPenalty: 0.4, ...sampled, minP: 0.01 }],
  ["a schema", wholeText],
  ["a schema, sampled, with logprobs", { ...wholeText, ...sampled, logprobs: 2 }],
  ["a schema with choices", { ...wholeText, ...sampled, n: 3 }],
  ["JSON with a bias", { grammar: { kind: "json" }, maxTokens: 20, logitBias: { "80": 3 } }],
];

function told(logprobs: readonly (TokenLogprobs | null)[]) {
  return logprobs.map((entry) => ({
    chosen: entry?.chosen.toFixed(digits),
    top: entry?.top.map(([token, logprob]) => [token, logprob.toFixed(digits)]),
  }));
}

function tell(outputs: readonly StepOutput[]) {
  const choices = [...new Set(outputs.map(({ choice }) => choice))].sort();
  return choices.map((choice) => {
    const own = outputs.filter((output) => output.choice === choice);
    return {
      offsets: own.map(({ offset }) => offset),
      tokens: own.flatMap(({ tokens }) => tokens),
      logprobs: told(own.flatMap(({ logprobs }) => logprobs ?? [])),
      finish: own.map(({ finish }) => finish),
    };
  });
}

const promptTold = (outputs: readonly StepOutput[]) =>
  outputs.flatMap(({ promptLogprobs }) => told(promptLogprobs ?? []));

describe.skipIf(installedLlama === undefined)(
  `LlamaEngine and its options${llamaTitle}`,
  { timeout: 120_000 },
  () => {
    let model: TinyModel;
    let prefill: TestEngine;
    let decode: TestEngine;
    let aggregated: TestEngine;

    beforeAll(async () => {
      model = await TinyModel.create();
      [prefill, decode, aggregated] = await Promise.all([
        model.started(),
        model.started({ maxSequences: 3 }),
        model.started({ maxSequences: 1 }),
      ]);
    }, 120_000);

    afterAll(async () => {
      await model?.close();
    });

    it.each(options)("answers %s on two engines as on one", async (_what, params) => {
      for (const length of [1, 15, 16, 70, 200]) {
        const prompt = promptOf(length, 7_000 + length);
        const whole = await aggregated.generate(job(prompt, params));
        const halves = await disaggregate(prefill, decode, job(prompt, params));

        expect(tell(halves.outputs), `${length} tokens`).toEqual(tell(whole.outputs));
        expect(told(halves.prefilled.promptLogprobs ?? [])).toEqual(promptTold(whole.outputs));
        expect(halves.prefilled.cachedTokens).toBe(whole.cachedTokens);
      }
    });

    it("gives each choice what a request for it alone would get, but for how its first token is drawn", async () => {
      const prompt = promptOf(50, 7_300);
      const three = await aggregated.generate(job(prompt, { n: 3 }));
      const one = await aggregated.generate(job(prompt));

      for (const { tokens } of tell(three.outputs)) expect(tokens).toEqual(one.tokens);
    });

    it("tells the same of a prompt whether or not parts of it are cached", async () => {
      const prompt = promptOf(150, 7_301);
      const params = { promptLogprobs: 2 };
      const cold = await aggregated.generate(job(prompt, params));
      await aggregated.generate(job(prompt));
      const warm = await aggregated.generate(job(prompt, params));

      expect(promptTold(cold.outputs)).toHaveLength(149);
      expect(promptTold(warm.outputs)).toEqual(promptTold(cold.outputs));
      expect(warm.cachedTokens).toBe(0);
    });

    it("tells of a prompt what it tells of the same tokens as output", async () => {
      const prompt = promptOf(40, 7_302);
      const output = await aggregated.generate(job(prompt, { logprobs: 2, maxTokens: 9 }));
      const whole = [...prompt, ...output.tokens];
      const again = await aggregated.generate(job(whole, { promptLogprobs: 2, maxTokens: 1 }));

      const asOutput = output.outputs.flatMap(({ logprobs }) => logprobs ?? []);
      const asPrompt = again.outputs[0]?.promptLogprobs?.slice(-9) ?? [];
      for (const [index, entry] of asPrompt.entries()) {
        expect(entry?.chosen).toBeCloseTo(asOutput[index]?.chosen ?? 0, 1);
        expect(entry?.top[0]?.[0]).toBe(output.tokens[index]);
      }
    });

    it("writes valid JSON whatever the seed, on two engines", async () => {
      const tokenizer = createTokenizer(
        decodeTokenizerArtifact(decode.card?.tokenizer ?? new Uint8Array()),
      );
      for (let seed = 1; seed <= 8; seed++) {
        const params = { grammar, maxTokens: 200, ignoreEos: false, temperature: 1.5, seed };
        const { outputs } = await disaggregate(
          prefill,
          decode,
          job(promptOf(30, 7_400 + seed), params),
        );

        expect(outputs.at(-1)?.finish).toBe("stop");
        const tokens = outputs.flatMap((output) => output.tokens).slice(0, -1);
        const value = JSON.parse(tokenizer.decode(tokens)) as Record<string, unknown>;
        expect(value.kind).toMatch(/^(cat|dog|owl)$/);
      }
    });

    it("ends JSON where its schema ends it, though the end is to be ignored", async () => {
      const params = { grammar, maxTokens: 400, ignoreEos: true, minTokens: 300 };
      const { finish, tokens } = await aggregated.generate(job(promptOf(30, 7_500), params));

      expect(finish).toBe("stop");
      expect(tokens.length).toBeLessThan(300);
    });

    it("fails a decode whose first token is none of its grammar, and serves on", async () => {
      const prompt = promptOf(30, 7_501);
      const free = await disaggregate(prefill, decode, job(prompt));
      const work = job(prompt, { grammar, maxTokens: 50, ignoreEos: false });
      const firstTokens = [{ id: free.tokens[0] ?? 0, logprobs: null }];
      await decode.engine.prepareImport({ ...work, firstTokens });
      await decode.engine.importPart(
        work.requestId,
        "tail",
        new Uint8Array((await tailOf(prefill, prompt)) ?? []),
      );

      const run = decode.collect(work, () => decode.engine.decode(work.requestId));
      await expect(run).rejects.toMatchObject({ code: "engine_failed" });
      expect((await disaggregate(prefill, decode, job(prompt))).tokens).toEqual(free.tokens);
    });

    it("stops all choices of an aborted request, told and untold ones", async () => {
      const work = job(promptOf(40, 7_502), { n: 4, maxTokens: 400, temperature: 1, seed: 1 });
      aggregated.steps.length = 0;
      void aggregated.collect(work, () => aggregated.engine.generate(work));
      await expect.poll(() => aggregated.steps.flat().length, soon).toBeGreaterThan(10);
      aggregated.engine.abort(work.requestId);
      await expect
        .poll(() => aggregated.engine.load(), soon)
        .toMatchObject({ runningSequences: 0, activeBlocks: 0 });
      aggregated.steps.length = 0;
      const next = await aggregated.generate(job(promptOf(40, 7_503)));

      expect(next.tokens).toHaveLength(12);
      const late = aggregated.steps.flat().filter(({ requestId }) => requestId === work.requestId);
      expect(late).toEqual([]);
    });

    async function tailOf(from: TestEngine, prompt: readonly number[]) {
      const { requestId, staged } = await from.prefill(job(prompt));
      const tail = await staged?.read("tail");
      from.engine.release(requestId);
      return tail;
    }
  },
);
