import { describe, expect, it } from "vitest";
import {
  BlockPool,
  fixedTiming,
  MockEngine,
  polynomialTiming,
  type TimingModel,
} from "../src/index.ts";
import { polynomialDecodeMs, polynomialPrefillMs } from "../src/timing-model.ts";
import {
  countingPlan,
  EventFollower,
  engineOf,
  planFrom,
  planOf,
  requestOf,
  runPass,
  runToEnd,
  Transcript,
  tokensFrom,
} from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

describe("generating", () => {
  it("gives the first token with the pass that ends the prefill, then one a pass", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ rules: { maxTokens: 3 } }));

    const { transcript, results } = runToEnd(engine);

    expect(transcript.tokens.get("a/0")).toEqual([1000, 1001, 1002]);
    expect(transcript.finishes.get("a/0")).toBe("length");
    expect(results.map((result) => result.outputs === results[0]!.outputs)).toEqual([
      true,
      true,
      true,
    ]);
    expect(results.map((result) => result.ended.map((request) => request.id))).toEqual([
      [],
      [],
      ["a"],
    ]);
  });

  it("hands back the very object that it was given", () => {
    const engine = engineOf();
    const request = { ...requestOf({ rules: { maxTokens: 1 } }), stream: 17 };
    engine.addGenerate(request);

    const result = runPass(engine);

    expect(result.outputs.requests[0]).toBe(request);
    expect(result.prefills[0]!.request).toBe(request);
    expect(result.ended[0]).toBe(request);
  });

  it("ends as eos where the plan has no more, without a token", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ plans: [planOf(5, 6)], rules: { maxTokens: 9 } }));

    const { transcript } = runToEnd(engine);

    expect(transcript.tokens.get("a/0")).toEqual([5, 6]);
    expect(transcript.finishes.get("a/0")).toBe("eos");
  });

  it("ends as length at the model's limit and when the pool can hold no more", () => {
    const bounded = engineOf({ maxModelLen: 12 });
    const tiny = engineOf({ blockCount: 3 });
    bounded.addGenerate(requestOf({ rules: { maxTokens: 99 } }));
    tiny.addGenerate(requestOf({ rules: { maxTokens: 99 } }));

    expect(runToEnd(bounded).transcript.tokens.get("a/0")).toHaveLength(2);
    // 12 positions, of which the prompt takes 10, and a last token that needs none.
    const { transcript } = runToEnd(tiny);
    expect(transcript.tokens.get("a/0")).toHaveLength(3);
    expect(transcript.finishes.get("a/0")).toBe("length");
  });

  it("refuses what can never run, and an id that it holds", () => {
    const engine = engineOf({ blockCount: 2 });
    expect(engine.addGenerate(requestOf())).toEqual({ kind: "rejected", reason: "exceeds_pool" });
    const small = requestOf({ promptTokens: tokensFrom(0, 4) });
    expect(engine.addGenerate(small)).toEqual({ kind: "accepted" });
    expect(engine.addPrefill(small)).toEqual({ kind: "rejected", reason: "duplicate_id" });
    runToEnd(engine);
    expect(engine.addGenerate(small)).toEqual({ kind: "accepted" });
  });

  it("has nothing to do when it is empty, and holds nothing after the end", () => {
    const engine = engineOf();
    expect(engine.beginPass(5)).toBeUndefined();
    engine.addGenerate(requestOf());
    runToEnd(engine);

    expect(engine.beginPass(5)).toBeUndefined();
    expect(engine.load()).toEqual({
      totalBlocks: 64,
      activeBlocks: 0,
      cachedBlocks: 3,
      freeBlocks: 61,
      runningSequences: 0,
      waitingSequences: 0,
      waitingPrefillTokens: 0,
      stagedHandoffs: 0,
      reservedHandoffs: 0,
      queuedHandoffs: 0,
      preemptionsTotal: 0,
    });
  });

  it("refuses to begin a pass twice or to finish none", () => {
    const engine = engineOf();
    expect(() => engine.finishPass()).toThrow("no pass is under way");
    engine.addGenerate(requestOf());
    engine.beginPass(0);
    expect(() => engine.beginPass(0)).toThrow("a pass is under way");
  });
});

describe("time", () => {
  it("ends a prefill and a decode pass when the polynomial says", () => {
    const engine = engineOf({}, polynomialTiming());
    engine.addGenerate(requestOf({ promptTokens: tokensFrom(0, 100), rules: { maxTokens: 2 } }));
    const capacity = 64 * 4;

    const first = engine.beginPass(1000)!;
    expect(first.startedAtMs).toBe(1000);
    const firstMs = polynomialPrefillMs(100) + polynomialDecodeMs(100 / capacity);
    expect(first.endsAtMs).toBeCloseTo(1000 + firstMs, 9);
    engine.finishPass();
    const second = engine.beginPass(2000)!;
    expect(second.endsAtMs).toBeCloseTo(2000 + polynomialDecodeMs(101 / capacity), 9);
  });

  it("does not charge a decode step for a prefill that is handed off", () => {
    const engine = engineOf({}, polynomialTiming());
    engine.addPrefill(requestOf());
    expect(engine.beginPass(0)!.endsAtMs).toBeCloseTo(polynomialPrefillMs(10), 9);
  });

  it("takes a fixed time per prompt, however it is cut, and none at 0", () => {
    const engine = engineOf(
      { maxNumBatchedTokens: 4 },
      fixedTiming({ prefillMs: 30, decodeMs: 2 }),
    );
    engine.addGenerate(requestOf({ rules: { maxTokens: 2 } }));

    const durations: number[] = [];
    for (let pass = engine.beginPass(0); pass !== undefined; pass = engine.beginPass(0)) {
      durations.push(pass.endsAtMs);
      engine.finishPass();
    }
    expect(durations).toEqual([12, 12, 6 + 2, 2]);
    const timeless = engineOf();
    timeless.addGenerate(requestOf());
    expect(timeless.beginPass(7)).toMatchObject({ startedAtMs: 7, endsAtMs: 7 });
  });

  it("counts a block that two sequences share twice", () => {
    const contexts: number[] = [];
    const timing: TimingModel = {
      prefillMs: () => 0,
      decodeMs: (batch) => {
        contexts.push(batch.contextTokens);
        return 0;
      },
    };
    const engine = engineOf({}, timing);
    engine.addGenerate(requestOf({ id: "a", rules: { maxTokens: 1 } }));
    engine.addGenerate(requestOf({ id: "b", rules: { maxTokens: 1 } }));
    runPass(engine);
    expect(contexts).toEqual([20]);
  });
});

describe("KV events", () => {
  it("tells stored blocks at the end of the pass, with the hashes of prompt and output", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ promptTokens: tokensFrom(0, 7), rules: { maxTokens: 4 } }));
    engine.beginPass(0);
    expect(engine.takeEvents()).toEqual([]);

    const first = engine.finishPass().events;
    const rest = runToEnd(engine).results.flatMap((result) => result.events);

    const tokens = Uint32Array.of(...tokensFrom(0, 7), 1000);
    const blockHashes = testHasher.blockHashes(tokens, 4);
    const sequenceHashes = testHasher.sequenceHashes(blockHashes);
    const part = (bytes: Uint8Array, block: number) => bytes.slice(block * 8, block * 8 + 8);
    expect([...first, ...rest]).toEqual([
      {
        kind: "stored",
        parent: undefined,
        blockHashes: part(blockHashes, 0),
        sequenceHashes: part(sequenceHashes, 0),
      },
      {
        kind: "stored",
        parent: part(sequenceHashes, 0),
        blockHashes: part(blockHashes, 1),
        sequenceHashes: part(sequenceHashes, 1),
      },
    ]);
  });

  it("uses the hashes that come with the prompt and the seed for what it hashes itself", () => {
    const promptTokens = tokensFrom(0, 7);
    const seed = { low: 77, high: 78 };
    const blockHashes = testHasher.blockHashes(promptTokens, 4, seed);
    const sequenceHashes = testHasher.sequenceHashes(blockHashes);
    const given = engineOf();
    const computed = engineOf();
    const promptHashes = { blockHashes, sequenceHashes };
    given.addGenerate(requestOf({ promptTokens, promptHashes, hashSeed: seed }));
    computed.addGenerate(requestOf({ promptTokens, hashSeed: seed }));

    const eventsOf = (engine: typeof given) => runToEnd(engine).results.flatMap((r) => r.events);

    expect(eventsOf(given)).toEqual(eventsOf(computed));
    expect(given.snapshot()).toMatchObject([{ parent: undefined }]);
  });

  it("tells an idle engine's events to whoever asks", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf());
    runToEnd(engine);

    engine.clearCache();

    expect(engine.takeEvents()).toEqual([{ kind: "cleared" }]);
    expect(engine.takeEvents()).toEqual([]);
    expect(engine.load().cachedBlocks).toBe(0);
  });
});

describe("cancelling", () => {
  it("frees at once while a pass is under way, and drops what that would emit", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf());
    engine.beginPass(0);

    expect(engine.cancel("a")).toBe(true);

    expect(engine.load()).toMatchObject({ activeBlocks: 0, runningSequences: 0 });
    const result = engine.finishPass();
    expect([result.outputs.count, result.prefills, result.ended]).toEqual([0, [], []]);
  });

  it("frees at once between passes, waiting or running", () => {
    const engine = engineOf({ maxNumSeqs: 1 });
    engine.addGenerate(requestOf({ id: "a" }));
    engine.addGenerate(requestOf({ id: "b" }));
    runPass(engine);
    expect(engine.load()).toMatchObject({ runningSequences: 1, waitingSequences: 1 });

    expect([engine.cancel("a"), engine.cancel("b"), engine.cancel("b")]).toEqual([
      true,
      true,
      false,
    ]);

    expect(engine.load()).toMatchObject({
      activeBlocks: 0,
      runningSequences: 0,
      waitingSequences: 0,
      waitingPrefillTokens: 0,
    });
    expect(engine.beginPass(0)).toBeUndefined();
  });

  it("ends one choice and lets the others go on", () => {
    const engine = engineOf();
    const plans = [planFrom(100), planFrom(200), planFrom(300)];
    engine.addGenerate(requestOf({ plans, rules: { maxTokens: 3 } }));
    const transcript = new Transcript();
    engine.cancel("a", 0);
    transcript.read(runPass(engine).outputs);

    expect(engine.cancel("a", 2)).toBe(true);
    expect(engine.cancel("a", 2)).toBe(false);
    expect(engine.cancel("a", 3)).toBe(false);
    while (engine.beginPass(0) !== undefined) transcript.read(engine.finishPass().outputs);

    expect(Object.fromEntries(transcript.tokens)).toEqual({ "a/1": [200, 201, 202], "a/2": [300] });
    expect(engine.load().activeBlocks).toBe(0);
  });

  it("ends the request when every choice is cancelled before the fork", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ plans: [countingPlan, countingPlan] }));
    engine.cancel("a", 0);
    engine.cancel("a", 1);

    expect(engine.cancel("a")).toBe(false);
    expect(engine.beginPass(0)).toBeUndefined();
  });

  it("does not change who else runs", () => {
    const engine = engineOf();
    for (const id of ["a", "b", "c"])
      engine.addGenerate(requestOf({ id, rules: { maxTokens: 2 } }));
    const transcript = new Transcript();
    transcript.read(runPass(engine).outputs);
    engine.beginPass(0);
    engine.cancel("b");
    transcript.read(engine.finishPass().outputs);

    expect([...transcript.tokens.values()].map((tokens) => tokens.length)).toEqual([2, 1, 2]);
  });
});

describe("several choices", () => {
  it("computes the prompt once and shares its blocks", () => {
    const engine = engineOf();
    const plans = [planFrom(100), planFrom(200), planFrom(300)];
    engine.addGenerate(requestOf({ plans, rules: { maxTokens: 3 } }));

    const first = engine.beginPass(0)!;
    expect(first.prefillTokens).toBe(10);
    const result = engine.finishPass();
    expect(result.outputs.count).toBe(3);
    expect(result.prefills).toHaveLength(1);
    expect(engine.load()).toMatchObject({ activeBlocks: 3, runningSequences: 3 });
    runPass(engine);
    // Two full blocks are shared; each choice has its own copy of the partial third.
    expect(engine.load().activeBlocks).toBe(5);
    const { transcript } = runToEnd(engine);
    expect(transcript.finishes.size).toBe(3);
    expect(engine.load().activeBlocks).toBe(0);
  });

  it("takes as many running slots as it has choices", () => {
    const engine = engineOf({ maxNumSeqs: 3 });
    engine.addGenerate(requestOf({ id: "a", plans: [countingPlan, countingPlan] }));
    engine.addGenerate(requestOf({ id: "b", plans: [countingPlan, countingPlan] }));
    runPass(engine);

    expect(engine.load()).toMatchObject({ runningSequences: 2, waitingSequences: 1 });
    runToEnd(engine);
    expect(engine.load()).toMatchObject({ runningSequences: 0, waitingSequences: 0 });
  });

  it("says once that a request ended, with its last choice", () => {
    const engine = engineOf();
    const plans = [planOf(1), planOf(1, 2, 3)];
    engine.addGenerate(requestOf({ plans, rules: { maxTokens: 9 } }));
    const ended = runToEnd(engine).results.map((result) => result.ended.length);
    expect(ended).toEqual([0, 0, 0, 1]);
  });
});

describe("tokens found in the cache", () => {
  it("are those of a request's first admission, not what it finds of its own after it was preempted", () => {
    const engine = engineOf({ blockCount: 6, maxNumBatchedTokens: 4 });
    const old = requestOf({ id: "a", promptTokens: tokensFrom(0, 4), rules: { maxTokens: 9 } });
    const long = requestOf({ id: "b", promptTokens: tokensFrom(50, 16), rules: { maxTokens: 1 } });
    engine.addGenerate(old);
    engine.addGenerate(long);

    const { results } = runToEnd(engine);

    expect(results.flatMap(({ preempted }) => preempted.map(({ id }) => id))).toEqual(["b"]);
    const computed = results.reduce((sum, { pass }) => sum + pass.prefillTokens, 0);
    expect(computed).toBeLessThan(4 + 12 + 16);
    expect(results.flatMap(({ prefills }) => prefills.map((done) => done.cachedTokens))).toEqual([
      0, 0,
    ]);
  });
});

describe("a pool that engines share", () => {
  const timing = polynomialTiming();
  const sharing = (blockCount: number, pool: BlockPool) =>
    new MockEngine({ blockCount, blockSize: 4 }, { hasher: testHasher, timing, pool });

  it("lets one reuse what another has computed", () => {
    const pool = new BlockPool({ blockCount: 16, blockSize: 4, prefixCaching: true });
    const [first, second] = [sharing(8, pool), sharing(8, pool)];
    const promptTokens = tokensFrom(0, 12);
    first.addGenerate(requestOf({ id: "a", promptTokens, rules: { maxTokens: 1 } }));
    runToEnd(first);

    second.addGenerate(requestOf({ id: "b", promptTokens, rules: { maxTokens: 1 } }));
    const result = runPass(second);

    expect(result.prefills[0]?.cachedTokens).toBe(8);
  });

  it("changes neither how long a pass takes nor what is refused", () => {
    const pool = new BlockPool({ blockCount: 16, blockSize: 4, prefixCaching: true });
    const alone = new MockEngine({ blockCount: 8, blockSize: 4 }, { hasher: testHasher, timing });
    const [own, shared] = [alone, sharing(8, pool)].map((engine) => {
      const large = engine.addGenerate(requestOf({ id: "a", promptTokens: tokensFrom(0, 33) }));
      engine.addGenerate(requestOf({ id: "b", promptTokens: tokensFrom(0, 12) }));
      return { large, ms: engine.beginPass(0)?.endsAtMs };
    });

    expect(shared).toEqual(own);
    expect(shared?.large).toEqual({ kind: "rejected", reason: "exceeds_pool" });
  });

  it("must have blocks of the engine's size", () => {
    const pool = new BlockPool({ blockCount: 16, blockSize: 8, prefixCaching: true });

    expect(() => sharing(8, pool)).toThrow(RangeError);
  });
});

describe("events across everything", () => {
  it("let a follower hold just what the engine caches", () => {
    const engine = engineOf({ blockCount: 12 });
    const follower = new EventFollower();
    for (let i = 0; i < 12; i++) {
      engine.addGenerate(
        requestOf({ id: `r${i}`, promptTokens: tokensFrom((i % 5) * 50, 12 + i) }),
      );
      for (const result of runToEnd(engine).results) follower.apply(result.events);
    }
    const late = new EventFollower();
    late.apply(engine.snapshot());

    expect(late.parents).toEqual(follower.parents);
    expect(follower.parents.size).toBe(engine.load().cachedBlocks);
  });
});
