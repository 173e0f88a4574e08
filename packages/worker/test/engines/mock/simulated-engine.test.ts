import { createBlockHasherFromModule } from "@baton/kv-router";
import { type GenerationParams, requestId, tokensToBytes } from "@baton/protocol";
import { SeededRandom, silentLogger, VirtualClock } from "@baton/runtime";
import { promptTokens } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { createMockEngine } from "../../../src/engines/mock/index.ts";
import { simulatedBytesPerToken } from "../../../src/engines/mock/staged-prompt.ts";
import { loadTokenizer } from "../../../src/engines/mock/tokenizer-source.ts";
import { type EngineUnderTest, engineContract } from "../../engine-contract.ts";
import { EngineRecorder, tokensOf } from "../../engine-recorder.ts";
import { workerConfig } from "../../support/worker-cluster.ts";

const hasher = createBlockHasherFromModule();

function create(
  flags: Readonly<Record<string, unknown>>,
): EngineUnderTest & { clock: VirtualClock } {
  const clock = new VirtualClock();
  const engine = createMockEngine(workerConfig(flags), {
    clock,
    random: new SeededRandom(3),
    log: silentLogger(),
  });
  return {
    clock,
    engine,
    vocabularySize: 1_000,
    until: async (condition) => {
      if (!(await clock.runUntilTrue(condition, 60_000))) throw new Error("it never held");
    },
    settle: () => clock.runUntilIdle(),
  };
}

engineContract("mock", () => Promise.resolve(create({})));
engineContract("mock without times", () =>
  Promise.resolve(create({ "mock-prefill-ms": 0, "mock-decode-ms": 0 })),
);
engineContract("mock with its timing model, small chunks and a slow link", () =>
  Promise.resolve(
    create({
      "mock-prefill-ms": undefined,
      "mock-decode-ms": undefined,
      speedup: 10,
      "max-batched-tokens": 24,
      "transfer-gbps": 1,
    }),
  ),
);

describe("the mock engine", () => {
  const start = async (flags: Readonly<Record<string, unknown>>) => {
    const made = create(flags);
    const heard = new EngineRecorder();
    const card = await made.engine.start(heard);
    return { ...made, heard, card };
  };

  const jobOf = (id: string, tokens: Uint32Array, params: Partial<GenerationParams> = {}) => {
    const blockHashes = hasher.blockHashes(tokens, 16);
    return {
      requestId: requestId(id),
      dpRank: 0,
      tokens,
      blockHashes,
      sequenceHashes: hasher.sequenceHashes(blockHashes),
      params: { maxTokens: 40, ...params },
      lora: null,
      salt: null,
    };
  };

  it("counts after the hash of its prompt, in the model's own tokenizer", async () => {
    const { engine, heard, until } = await start({});
    const tokens = Uint32Array.of(5, 6, 7);
    const job = jobOf("r1", tokens);
    engine.generate(job);
    await until(() => heard.isOver(job));

    const { tokenizer } = loadTokenizer();
    const text = tokenizer.decode(heard.outputsOf(job).flatMap((output) => output.tokens));

    const hash = hasher.xxh3(tokensToBytes(tokens));
    const hex = Buffer.from(hash.subarray(0, 4)).reverse().toString("hex");
    expect(text.startsWith(`${hex}-0 ${hex}-1 `)).toBe(true);
    expect(heard.outputsOf(job)).toHaveLength(40);
  });

  it("differs by seed above temperature 0, and repeats with the same seed", async () => {
    const { engine, heard, until } = await start({});
    const tokens = Uint32Array.of(5, 6, 7);
    const jobs = [1, 2, 1].map((seed, i) => jobOf(`r${i}`, tokens, { temperature: 1, seed }));
    for (const job of jobs) engine.generate(job);
    await until(() => jobs.every((job) => heard.isOver(job)));

    const [first, other, again] = jobs.map((job) => tokensOf(heard.outputsOf(job)));
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });

  it("stops at a stop token, with that token", async () => {
    const { engine, heard, until } = await start({});
    const tokens = Uint32Array.of(5, 6, 7);
    const free = jobOf("r1", tokens);
    engine.generate(free);
    await until(() => heard.isOver(free));
    const third = tokensOf(heard.outputsOf(free))[2] as number;
    const stopped = jobOf("r2", tokens, { stopTokenIds: [third] });
    engine.generate(stopped);
    await until(() => heard.isOver(stopped));

    const outputs = heard.outputsOf(stopped);
    expect(outputs.at(-1)).toMatchObject({ finish: "stop", tokens: [third] });
    expect(outputs.length).toBeLessThanOrEqual(3);
  });

  it("takes the configured time for a prompt and each step, shared by what comes together", async () => {
    const { engine, heard, until, clock } = await start({
      "mock-prefill-ms": 10,
      "mock-decode-ms": 3,
    });
    const startMs = clock.nowMs();
    const jobs = ["r1", "r2"].map((id, i) => jobOf(id, Uint32Array.of(5, 6, i), { maxTokens: 4 }));
    for (const job of jobs) engine.generate(job);
    await until(() => jobs.every((job) => heard.isOver(job)));

    expect(clock.nowMs() - startMs).toBe(10 + 4 * 3);
  });

  it("lets others run between passes that take no time", async () => {
    const { engine, heard, until, clock } = await start({
      "mock-prefill-ms": 0,
      "mock-decode-ms": 0,
    });
    const job = jobOf("r1", Uint32Array.of(5, 6, 7), { maxTokens: 100 });
    let turns = 0;
    const count = (): void => {
      turns++;
      if (!heard.isOver(job)) clock.setTimer(0, count);
    };
    engine.generate(job);
    clock.setTimer(0, count);
    await until(() => heard.isOver(job));

    expect(turns).toBeGreaterThanOrEqual(99);
  });

  it("gives staged KV out at the speed of its link", async () => {
    const { engine, heard, until, clock } = await start({ "transfer-gbps": 1 });
    const job = jobOf("r1", promptTokens(100, 1, 1_000));
    engine.prefill(job);
    await until(() => heard.prefilled.size === 1);
    const staged = heard.prefilled.get(job.requestId)?.staged;
    const startMs = clock.nowMs();
    let isRead = false;
    const readAll = async () => {
      for (const part of [0, 1, 2, 3, 4, 5, "tail"] as const) await staged?.read(part);
      isRead = true;
    };
    readAll().catch(() => undefined);
    await until(() => isRead);

    const wholeMs = (100 * simulatedBytesPerToken) / 1e6;
    expect(clock.nowMs() - startMs).toBeGreaterThan(wholeMs - 2.2);
    expect(clock.nowMs() - startMs).toBeLessThanOrEqual(wholeMs);
  });

  it("waits with an import until there is room", async () => {
    const { engine, heard, until } = await start({ "max-num-seqs": 1 });
    const running = jobOf("r1", Uint32Array.of(5, 6, 7));
    engine.generate(running);
    await until(() => heard.outputs.size > 0);
    const job = jobOf("r2", Uint32Array.of(5, 6, 8));
    let plan: unknown;
    engine
      .prepareImport({ ...job, firstTokens: [{ id: 9, logprobs: null }] })
      .then((made) => {
        plan = made;
      })
      .catch(() => undefined);
    await until(() => heard.outputsOf(running).length > 10);
    expect(plan).toBeUndefined();

    await until(() => plan !== undefined);

    expect(heard.isOver(running)).toBe(true);
    expect(plan).toEqual({ missingBlocks: [], needsTail: true, reusedBlocks: 0 });
  });

  it.each([
    ["more choices than it has sequences", { params: { n: 300 } }, "unsupported"],
    ["a prompt over its pool", { tokens: 16 * 257 }, "context_length_exceeded"],
  ])("fails %s", async (_what, wish, code) => {
    const { engine, heard, until } = await start({ "context-length": 100_000 });
    const tokens = promptTokens("tokens" in wish ? (wish.tokens as number) : 3, 1, 1_000);
    const job = jobOf("r1", tokens, "params" in wish ? wish.params : {});
    engine.generate(job);
    await until(() => heard.isOver(job));

    expect(heard.failed.get(job.requestId)?.code).toBe(code);
  });

  it("promises no longer context than its blocks hold", async () => {
    const { card } = await start({ blocks: 24, "block-size": 16, "context-length": 600 });

    expect(card.contextLength).toBe(384);
  });
});
