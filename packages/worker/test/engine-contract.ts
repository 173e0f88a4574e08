import { createBlockHasherFromModule } from "@baton/kv-router";
import { type GenerationParams, requestId, ServingError } from "@baton/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type {
  Engine,
  EngineCard,
  EngineJob,
  ImportPlan,
  KvPart,
  PrefillResult,
  StepOutput,
} from "../src/engine.ts";
import { optionContract } from "./engine-option-contract.ts";
import { EngineRecorder, KvModel, tokensOf } from "./engine-recorder.ts";

/** One engine under test, started by the suite. */
export interface EngineUnderTest {
  readonly engine: Engine;
  /** Ids that prompts may hold are 0 to this, not included. */
  readonly vocabularySize: number;
  /** Lets the engine work until the condition holds. Fails if it never does. */
  until(condition: () => boolean): Promise<void>;
  /** Lets everything that is under way end. */
  settle(): Promise<void>;
}

const hasher = createBlockHasherFromModule();

/** What every `Engine` promises. Each test gets a fresh engine. */
export function engineContract(name: string, create: () => Promise<EngineUnderTest>): void {
  describe(`${name} keeps the contract of an Engine`, () => {
    let subject: EngineUnderTest;
    let engine: Engine;
    let card: EngineCard;
    let heard: EngineRecorder;

    beforeEach(async () => {
      subject = await create();
      engine = subject.engine;
      heard = new EngineRecorder();
      card = await engine.start(heard);
    });
    afterEach(() => engine.stop());

    const promptOf = (length: number, seed = 1): Uint32Array =>
      Uint32Array.from({ length }, (_, i) => {
        const word = Math.imul(i + 1, 2_654_435_761) ^ Math.imul(seed, 40_503);
        return 3 + ((word >>> 8) % (subject.vocabularySize - 3));
      });

    const jobOf = (
      id: string,
      tokens: Uint32Array,
      params: Partial<GenerationParams> = {},
    ): EngineJob => {
      const blockHashes = hasher.blockHashes(tokens, card.blockSize);
      return {
        requestId: requestId(id),
        dpRank: 0,
        tokens,
        blockHashes,
        sequenceHashes: hasher.sequenceHashes(blockHashes),
        params: { maxTokens: 6, temperature: 0, ignoreEos: true, ...params },
        lora: null,
        salt: null,
      };
    };

    const generate = async (job: EngineJob): Promise<StepOutput[]> => {
      engine.generate(job);
      await subject.until(() => heard.isOver(job));
      return heard.outputsOf(job);
    };

    const prefill = async (job: EngineJob): Promise<PrefillResult> => {
      engine.prefill(job);
      await subject.until(() => heard.prefilled.has(job.requestId) || heard.failed.size > 0);
      const result = heard.prefilled.get(job.requestId);
      if (result === undefined) throw [...heard.failed.values()][0];
      return result;
    };

    /** Waits for something that the engine answers while time goes on. */
    const settled = async <T>(promise: Promise<T>): Promise<T> => {
      let isOver = false;
      const watch = promise.finally(() => {
        isOver = true;
      });
      watch.catch(() => undefined);
      await subject.until(() => isOver);
      return watch;
    };

    const partsOf = (plan: ImportPlan): KvPart[] =>
      plan.needsTail ? [...plan.missingBlocks, "tail"] : [...plan.missingBlocks];

    /** Moves the staged KV of one request to another one of the same prompt. */
    const handOver = async (from: PrefillResult, to: EngineJob): Promise<ImportPlan> => {
      const plan = await settled(engine.prepareImport({ ...to, firstTokens: from.firstTokens }));
      for (const part of partsOf(plan)) {
        const bytes = await settled((from.staged as NonNullable<typeof from.staged>).read(part));
        await settled(engine.importPart(to.requestId, part, bytes));
      }
      return plan;
    };

    const expectIdle = async () => {
      await subject.settle();
      expect(engine.load()).toMatchObject({
        runningSequences: 0,
        waitingSequences: 0,
        activeBlocks: 0,
        waitingPrefillTokens: 0,
      });
    };

    const lengths = () => [
      1,
      card.blockSize - 1,
      card.blockSize,
      card.blockSize + 1,
      card.blockSize * 3 + 5,
    ];

    it("has a card that a worker can register with", () => {
      expect(card.blockSize).toBeGreaterThan(0);
      expect(card.contextLength).toBeGreaterThan(card.blockSize * 4);
      expect(card.totalBlocks).toBeGreaterThan(4);
      expect(card.maxSequences).toBeGreaterThan(0);
      expect(card.dpSize).toBeGreaterThan(0);
      expect(card.tokenizer.length).toBeGreaterThan(0);
    });

    it("generates tokens in order, as many as asked for, and says so once", async () => {
      const job = jobOf("g1", promptOf(card.blockSize + 3));

      const outputs = await generate(job);

      expect(outputs.map((output) => output.offset)).toEqual(
        outputs.map((_, i) => outputs.slice(0, i).reduce((sum, o) => sum + o.tokens.length, 0)),
      );
      expect(tokensOf(outputs)).toHaveLength(6);
      expect(outputs.map((output) => output.finish)).toEqual([
        ...outputs.slice(1).map(() => null),
        "length",
      ]);
      await expectIdle();
    });

    it("says the same again to the same greedy prompt", async () => {
      const first = await generate(jobOf("g1", promptOf(20)));
      const second = await generate(jobOf("g2", promptOf(20)));

      expect(tokensOf(second)).toEqual(tokensOf(first));
    });

    it("reports what its cache held of a prompt that it has seen", async () => {
      const tokens = promptOf(card.blockSize * 3 + 2);
      const first = await generate(jobOf("g1", tokens));
      const second = await generate(jobOf("g2", tokens));

      expect(first.at(-1)?.cachedTokens).toBe(0);
      expect(second.at(-1)?.cachedTokens).toBeGreaterThanOrEqual(card.blockSize);
    });

    it("never calls back from inside a call", async () => {
      const job = jobOf("g1", promptOf(10));
      engine.prefill(jobOf("p1", promptOf(12)));
      engine.generate(job);
      engine.generate(jobOf("g2", promptOf(card.contextLength + 1)));

      expect(heard.calls).toBe(0);
      await subject.until(() => heard.isOver(job));
    });

    it("prefills and stages: parts cover the prompt", async () => {
      for (const length of lengths()) {
        const job = jobOf(`p${length}`, promptOf(length));
        const result = await prefill(job);

        expect(result.finishReasons).toEqual([null]);
        expect(result.firstTokens).toHaveLength(1);
        expect(result.staged?.blocks).toBe(Math.floor(length / card.blockSize));
        expect(result.staged?.hasTail).toBe(length % card.blockSize !== 0);
        engine.release(job.requestId);
      }
      expect(heard.outputs.size).toBe(0);
      await expectIdle();
    });

    it("goes on from a handed-over prompt as if it had computed it", async () => {
      for (const length of lengths()) {
        const tokens = promptOf(length, length);
        const alone = await generate(jobOf(`a${length}`, tokens));
        const from = await prefill(jobOf(`p${length}`, tokens));
        const to = jobOf(`d${length}`, tokens);
        await handOver(from, to);
        engine.release(from.requestId);

        engine.decode(to.requestId);
        await subject.until(() => heard.isOver(to));

        const outputs = heard.outputsOf(to);
        expect(outputs[0]).toMatchObject({ offset: 0 });
        expect(outputs[0]?.tokens[0]).toBe(from.firstTokens[0]?.id);
        expect(tokensOf(outputs)).toEqual(tokensOf(alone));
      }
      await expectIdle();
    });

    it("asks only for the blocks that it lacks", async () => {
      const tokens = promptOf(card.blockSize * 3 + 2);
      await generate(jobOf("g1", tokens));
      const from = await prefill(jobOf("p1", tokens));

      const plan = await handOver(from, jobOf("d1", tokens));

      expect(plan.reusedBlocks).toBeGreaterThan(0);
      expect(plan.reusedBlocks + plan.missingBlocks.length).toBe(3);
      engine.release(from.requestId);
      engine.abort(requestId("d1"));
      await expectIdle();
    });

    it("frees the KV of a prefill that its first token ends", async () => {
      const result = await prefill(jobOf("p1", promptOf(20), { maxTokens: 1 }));

      expect(result.finishReasons).toEqual(["length"]);
      expect(result.staged).toBeNull();
      await expectIdle();
    });

    it("ends an imported generation of one token with that token", async () => {
      const tokens = promptOf(20);
      const from = await prefill(jobOf("p1", tokens));
      const to = jobOf("d1", tokens, { maxTokens: 1 });
      await handOver(from, to);
      engine.release(from.requestId);

      engine.decode(to.requestId);
      await subject.until(() => heard.isOver(to));

      expect(heard.outputsOf(to)).toMatchObject([
        { offset: 0, tokens: [from.firstTokens[0]?.id], finish: "length" },
      ]);
      await expectIdle();
    });

    it("gives out nothing of a staged KV once it is released", async () => {
      const result = await prefill(jobOf("p1", promptOf(card.blockSize * 2)));
      engine.release(result.requestId);

      await expect(
        settled((result.staged as NonNullable<typeof result.staged>).read(0)),
      ).rejects.toBeInstanceOf(Error);
      await expectIdle();
    });

    it("refuses a part that is not what it should be", async () => {
      const tokens = promptOf(card.blockSize * 2 + 1);
      const from = await prefill(jobOf("p1", tokens));
      const other = await prefill(jobOf("p2", promptOf(card.blockSize * 2 + 1, 77)));
      const to = jobOf("d1", tokens);
      const plan = await settled(engine.prepareImport({ ...to, firstTokens: from.firstTokens }));
      const part = plan.missingBlocks[0] ?? "tail";
      const right = await settled((from.staged as NonNullable<typeof from.staged>).read(part));

      for (const wrong of [right.subarray(1), new Uint8Array(0)]) {
        await expect(settled(engine.importPart(to.requestId, part, wrong))).rejects.toMatchObject({
          code: "kv_transfer_failed",
        });
      }

      for (const id of [to, from, other]) engine.abort(id.requestId);
      await expectIdle();
    });

    it("is rid of a request that is aborted, in every state", async () => {
      const tokens = promptOf(card.blockSize * 4 + 1);
      const queued = jobOf("queued", tokens);
      engine.prefill(queued);
      engine.abort(queued.requestId);
      const staged = await prefill(jobOf("staged", tokens));
      const prepared = jobOf("prepared", tokens);
      await settled(engine.prepareImport({ ...prepared, firstTokens: staged.firstTokens }));
      engine.abort(prepared.requestId);
      const imported = jobOf("imported", tokens);
      await handOver(staged, imported);
      engine.decode(imported.requestId);
      engine.abort(imported.requestId);
      engine.abort(staged.requestId);
      const running = jobOf("running", promptOf(30, 5), { maxTokens: 200 });
      engine.generate(running);
      await subject.until(() => heard.outputsOf(running).length > 0);
      engine.abort(running.requestId);
      await subject.settle();
      const told = heard.outputsOf(running).length;

      await expectIdle();

      expect(heard.outputsOf(running)).toHaveLength(told);
      expect(heard.prefilled.has(queued.requestId)).toBe(false);
      expect([...heard.failed.keys()]).toEqual([]);
      expect(heard.outputsOf(prepared)).toEqual([]);
    });

    it("rejects an import that is aborted before its parts are asked for", async () => {
      const tokens = promptOf(20);
      const from = await prefill(jobOf("p1", tokens));
      const to = jobOf("d1", tokens);
      const plan = engine.prepareImport({ ...to, firstTokens: from.firstTokens });
      engine.abort(to.requestId);
      // An engine may have had the room at once; otherwise it says so.
      await settled(plan).then(undefined, (error: unknown) => {
        expect(error).toMatchObject({ code: "cancelled" });
      });

      engine.release(from.requestId);
      await expectIdle();
    });

    it("does not mind ids that it does not know", async () => {
      engine.abort(requestId("nobody"));
      engine.release(requestId("nobody"));
      await expect(
        settled(engine.importPart(requestId("nobody"), 0, new Uint8Array(4))),
      ).rejects.toBeInstanceOf(ServingError);
      await expectIdle();
    });

    it("fails what does not fit its context, and nothing else", async () => {
      const long = jobOf("long", promptOf(card.contextLength + 1));
      const short = jobOf("short", promptOf(10));
      engine.generate(long);
      engine.generate(short);
      await subject.until(() => heard.isOver(short) && heard.isOver(long));

      expect(heard.failed.get(long.requestId)?.code).toBe("context_length_exceeded");
      expect(tokensOf(heard.outputsOf(short))).toHaveLength(6);
      await expectIdle();
    });

    it("tells of its cache just what its dump says", async () => {
      for (const seed of [1, 2, 3]) {
        await generate(jobOf(`g${seed}`, promptOf(card.blockSize * 3 + 1, seed), { maxTokens: 3 }));
      }
      await subject.settle();
      const dumped = new KvModel();
      dumped.apply(engine.dumpKv(0));

      expect(heard.kv.blocks()).toEqual(dumped.blocks());
      expect(dumped.blocks().length).toBeGreaterThan(0);
    });

    it("serves several at once and mixes nothing up", async () => {
      const jobs = [1, 2, 3, 4].map((seed) => jobOf(`s${seed}`, promptOf(12 + seed, seed)));
      for (const job of jobs) engine.generate(job);
      await subject.until(() => jobs.every((job) => heard.isOver(job)));

      for (const job of jobs) {
        expect(tokensOf(heard.outputsOf(job))).toHaveLength(6);
        expect(new Set(heard.outputsOf(job).map((output) => output.requestId)).size).toBe(1);
      }
      await expectIdle();
    });

    optionContract({
      card: () => card,
      jobOf,
      generate,
      prefill,
      handOverAndDecode: async (from, to) => {
        await handOver(from, to);
        engine.release(from.requestId);
        engine.decode(to.requestId);
        await subject.until(() => heard.isOver(to));
        return heard.outputsOf(to);
      },
      failureOf: async (job) => {
        engine.prefill(job);
        await subject.until(() => heard.isOver(job));
        return heard.failed.get(job.requestId);
      },
      promptOf,
      expectIdle,
    });

    it("is silent once it has stopped", async () => {
      const job = jobOf("g1", promptOf(30), { maxTokens: 200 });
      engine.generate(job);
      await subject.until(() => heard.outputsOf(job).length > 0);
      await engine.stop();
      const calls = heard.calls;
      await subject.settle();

      expect(heard.calls).toBe(calls);
    });
  });
}
