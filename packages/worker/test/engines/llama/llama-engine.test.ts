import { writeFile } from "node:fs/promises";
import type { KvEvent } from "@baton/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTinyGguf } from "../../../scripts/make-tiny-gguf.ts";
import {
  disaggregate,
  type Generation,
  installedLlama,
  job,
  llamaTitle,
  promptOf,
  type TestEngine,
  TinyModel,
} from "./llama-harness.ts";

/** What a follower of the events believes the engine holds. */
function foldKv(events: readonly KvEvent[]): Set<string> {
  const held = new Set<string>();
  for (const event of events) {
    if (event.kind === "cleared") {
      held.clear();
      continue;
    }
    for (let at = 0; at < event.sequenceHashes.length; at += 8) {
      const hash = Buffer.from(event.sequenceHashes.subarray(at, at + 8)).toString("hex");
      if (event.kind === "removed") expect(held.delete(hash)).toBe(true);
      else held.add(hash);
    }
  }
  return held;
}

describe.skipIf(installedLlama === undefined)(
  `LlamaEngine${llamaTitle}`,
  { timeout: 60_000 },
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

    it("describes itself", () => {
      const card = prefill.card;
      expect(card).toMatchObject({
        engine: "llama",
        blockSize: 16,
        contextLength: 1024,
        dpSize: 1,
      });
      expect(card?.descriptor).toMatchObject({ layers: 4, keyType: 1, keyRowBytes: 64 });
      expect(card?.descriptor).toEqual(decode.card?.descriptor);
      expect(card?.tokenizer.length).toBeGreaterThan(1000);
    });

    it("gives the aggregated tokens after a handoff, for prompts of 1 to 300 tokens", async () => {
      for (let length = 1; length <= 300; length++) {
        const prompt = promptOf(length, length);
        const whole = await aggregated.generate(job(prompt, { maxTokens: 6 }));
        const halves = await disaggregate(prefill, decode, job(prompt, { maxTokens: 6 }));
        expect(halves.tokens, `${length} tokens`).toEqual(whole.tokens);
        expect(halves.outputs.map(({ offset }) => offset)).toEqual([...whole.tokens.keys()]);
      }
    }, 240_000);

    it("depends on the bytes that it is handed", async () => {
      const work = job(promptOf(40, 900));
      const prefilled = await prefill.prefill(work);
      const incoming = { ...work, firstTokens: prefilled.firstTokens };
      const plan = await decode.engine.prepareImport(incoming);
      for (const part of [...plan.missingBlocks, "tail" as const]) {
        const bytes = await prefilled.staged!.read(part);
        await decode.engine.importPart(work.requestId, part, new Uint8Array(bytes.length).fill(60));
      }
      const spoilt = await decode.collect(work, () => decode.engine.decode(work.requestId));
      prefill.engine.release(work.requestId);
      const whole = await aggregated.generate(job(promptOf(40, 900)));
      expect(spoilt.tokens[0]).toBe(whole.tokens[0]);
      expect(spoilt.tokens).not.toEqual(whole.tokens);
    });

    it("computes and moves only what a common prefix leaves", async () => {
      const prefix = promptOf(160, 901);
      await disaggregate(prefill, decode, job([...prefix, ...promptOf(30, 902)]));
      const second = [...prefix, ...promptOf(25, 903)];
      const halves = await disaggregate(prefill, decode, job(second));
      expect(halves.prefilled.cachedTokens).toBe(160);
      expect(halves.plan).toEqual({ missingBlocks: [10], needsTail: true, reusedBlocks: 10 });
      const fresh = await model.started({ maxSequences: 2 });
      const whole = await fresh.generate(job(second));
      expect(whole.cachedTokens).toBe(0);
      expect(halves.tokens).toEqual(whole.tokens);
    });

    it("goes on from its own output in the next turn", async () => {
      const prompt = promptOf(50, 904);
      const first = await disaggregate(prefill, decode, job(prompt, { maxTokens: 40 }));
      const next = [...prompt, ...first.tokens, ...promptOf(9, 905)];
      const second = await disaggregate(prefill, decode, job(next));
      // 89 tokens were fed on the decode side, so its own five blocks are there.
      expect(second.plan.reusedBlocks).toBe(5);
      expect(second.tokens).toEqual((await aggregated.generate(job(next))).tokens);
    });

    it("tells by events just what it holds", async () => {
      for (const engine of [prefill, decode, aggregated]) {
        expect(foldKv(engine.kvEvents)).toEqual(foldKv(engine.engine.dumpKv(0)));
        expect(foldKv(engine.kvEvents).size).toBeGreaterThan(10);
      }
    });

    it("holds nothing for anybody when all requests have ended", () => {
      for (const { engine } of [prefill, decode, aggregated]) {
        const load = engine.load();
        expect(load).toMatchObject({
          runningSequences: 0,
          waitingSequences: 0,
          activeBlocks: 0,
          waitingPrefillTokens: 0,
        });
        expect(load.cachedBlocks).toBeGreaterThan(0);
      }
    });

    it("keeps staged KV until it is released, and gives it out part by part", async () => {
      const work = job(promptOf(50, 906));
      const { staged } = await prefill.prefill(work);
      expect(staged).toMatchObject({ blocks: 3, hasTail: true, bytes: 50 * 8 * 64 });
      expect((await staged!.read(0)).length).toBe(16 * 8 * 64);
      expect((await staged!.read("tail")).length).toBe(2 * 8 * 64);
      expect(prefill.engine.load().activeBlocks).toBe(3);
      prefill.engine.release(work.requestId);
      await expect(staged!.read(0)).rejects.toMatchObject({ code: "kv_transfer_failed" });
      expect(prefill.engine.load().activeBlocks).toBe(0);
    });

    it("stages nothing when the first token ends the generation", async () => {
      const prompt = promptOf(20, 907);
      const one = await prefill.prefill(job(prompt, { maxTokens: 1 }));
      expect(one).toMatchObject({ finishReasons: ["length"], staged: null });
      const stopTokenIds = one.firstTokens.map(({ id }) => id);
      const stopped = await prefill.prefill(job(prompt, { stopTokenIds }));
      expect(stopped).toMatchObject({ finishReasons: ["stop"], staged: null });
    });

    it("refuses parts of another size, and a decode with parts missing", async () => {
      const work = job(promptOf(40, 908));
      const prefilled = await prefill.prefill(work);
      await decode.engine.prepareImport({ ...work, firstTokens: prefilled.firstTokens });
      const wrong = decode.engine.importPart(work.requestId, 0, new Uint8Array(5));
      await expect(wrong).rejects.toMatchObject({ code: "kv_transfer_failed" });
      const early = decode.collect(work, () => decode.engine.decode(work.requestId));
      await expect(early).rejects.toMatchObject({ code: "kv_transfer_failed" });
      prefill.engine.release(work.requestId);
      expect(decode.engine.load().runningSequences).toBe(0);
    });

    it("ends at the end of the context with `length`", async () => {
      const prompt = promptOf(1018, 909);
      const whole = await aggregated.generate(job(prompt, { maxTokens: 100 }));
      expect(whole).toMatchObject({ finish: "length" });
      expect(whole.tokens).toHaveLength(6);
      const halves = await disaggregate(prefill, decode, job(prompt, { maxTokens: 100 }));
      expect(halves.tokens).toEqual(whole.tokens);
      const last = await prefill.prefill(job(promptOf(1023, 910)));
      expect(last).toMatchObject({ finishReasons: ["length"], staged: null });
    });

    it.each([
      ["a prompt that leaves no room", job(promptOf(1024, 1)), "context_length_exceeded"],
      ["an empty prompt", job([]), "invalid_request"],
      ["a token outside of the vocabulary", job([5, 640]), "invalid_request"],
      [
        "a bias outside of the vocabulary",
        job([5], { logitBias: { "700": 1 } }),
        "invalid_request",
      ],
      ["too much of the prompt", job([5], { promptLogprobs: 300_000 }), "unsupported"],
      [
        "a schema that is none",
        job([5], { grammar: { kind: "json_schema", schema: "{" } }),
        "invalid_request",
      ],
      ["an adapter", { ...job([5]), lora: "a" }, "unsupported"],
    ])("refuses %s", async (_, work, code) => {
      await expect(prefill.prefill(work)).rejects.toMatchObject({ code });
      await expect(aggregated.generate(work)).rejects.toMatchObject({ code });
      const incoming = { ...work, firstTokens: [{ id: 5, logprobs: null }] };
      await expect(decode.engine.prepareImport(incoming)).rejects.toMatchObject({ code });
    });

    it("samples the same with the same seed, across a handoff too", async () => {
      const params = {
        temperature: 1.2,
        topP: 0.95,
        topK: 50,
        seed: 7,
        frequencyPenalty: 0.5,
        repetitionPenalty: 1.1,
        maxTokens: 30,
      };
      const prompt = promptOf(30, 911);
      const whole = await aggregated.generate(job(prompt, params));
      expect((await disaggregate(prefill, decode, job(prompt, params))).tokens).toEqual(
        whole.tokens,
      );
      expect((await aggregated.generate(job(prompt, params))).tokens).toEqual(whole.tokens);
      const other = await aggregated.generate(job(prompt, { ...params, seed: 8 }));
      expect(other.tokens).not.toEqual(whole.tokens);
    });

    it("reports raw log-probabilities, greedy, sampled and across a handoff", async () => {
      const prompt = promptOf(30, 912);
      const logprobsOf = ({ outputs }: Generation) => outputs.flatMap(({ logprobs }) => logprobs);
      const greedy = await aggregated.generate(job(prompt, { logprobs: 5 }));
      for (const [index, entry] of logprobsOf(greedy).entries()) {
        expect(entry?.top).toHaveLength(5);
        expect(entry?.top[0]).toEqual([greedy.tokens[index], entry?.chosen]);
        expect(entry?.chosen).toBeLessThan(0);
      }
      const halves = await disaggregate(prefill, decode, job(prompt, { logprobs: 5 }));
      expect(logprobsOf(halves)).toEqual(logprobsOf(greedy));
      const sampled = { logprobs: 5, temperature: 1.5, seed: 3, presencePenalty: 1 };
      const drawn = await aggregated.generate(job(prompt, sampled));
      expect(logprobsOf(drawn)[0]?.top[0]?.[1]).toBeCloseTo(logprobsOf(greedy)[0]!.chosen, 4);
      const none = await aggregated.generate(job(prompt, { logprobs: 0 }));
      expect(logprobsOf(none)[0]).toEqual({ chosen: logprobsOf(greedy)[0]?.chosen, top: [] });
    });

    it("obeys stop tokens, min_tokens and logit_bias", async () => {
      const prompt = promptOf(30, 913);
      const plain = await aggregated.generate(job(prompt));
      const stopTokenIds = [plain.tokens[0]!, plain.tokens[1]!];
      const stopped = await aggregated.generate(job(prompt, { stopTokenIds }));
      expect(stopped).toMatchObject({ finish: "stop", tokens: [plain.tokens[0]] });
      const longer = await aggregated.generate(job(prompt, { stopTokenIds, minTokens: 3 }));
      expect(longer.tokens.length).toBeGreaterThanOrEqual(3);
      expect(stopTokenIds).not.toContain(longer.tokens[0]);
      const biased = await aggregated.generate(
        job(prompt, { logitBias: { "77": 1000 }, maxTokens: 3 }),
      );
      expect(biased.tokens).toEqual([77, 77, 77]);
      const eos = { logitBias: { "2": 1000 }, ignoreEos: false };
      const ended = await aggregated.generate(job(prompt, eos));
      expect(ended).toMatchObject({ finish: "stop", tokens: [2] });
    });

    it("describes another model differently", async () => {
      await writeFile(model.path(2), makeTinyGguf(2));
      const other = await model.started({ modelFile: model.path(2), maxSequences: 1 });
      const differing = Object.entries(other.card?.descriptor ?? {}).filter(
        ([field, value]) => prefill.card?.descriptor?.[field] !== value,
      );
      expect(differing.map(([field]) => field)).toEqual(["model"]);
    });
  },
);
