import { describe, expect, it } from "vitest";
import type { EngineOptions, EngineRequest, MockEngine, PassResult } from "../src/index.ts";
import { engineOf, requestOf, runPass, runToEnd, tokensFrom } from "./support/builders.ts";

type Result = PassResult<EngineRequest>;

function idsOf(requests: readonly EngineRequest[]): string[] {
  return requests.map((request) => request.id);
}

function emittedBy(result: Result): string[] {
  return idsOf(result.outputs.requests.slice(0, result.outputs.count));
}

/** Requests with prompts that share nothing. */
function distinct(lengths: Readonly<Record<string, number>>, maxTokens = 20): EngineRequest[] {
  return Object.entries(lengths).map(([id, length], i) =>
    requestOf({ id, promptTokens: tokensFrom(i * 1000, length), rules: { maxTokens } }),
  );
}

function engineWith(
  options: EngineOptions,
  requests: readonly EngineRequest[],
): MockEngine<EngineRequest> {
  const engine = engineOf(options);
  for (const request of requests) engine.addGenerate(request);
  return engine;
}

describe("the budget of a pass", () => {
  it("cuts a long prompt into chunks", () => {
    const engine = engineWith({ maxNumBatchedTokens: 8 }, distinct({ a: 19 }));
    const tokens: number[] = [];
    const outputs: number[] = [];
    for (let i = 0; i < 4; i++) {
      tokens.push(engine.beginPass(0)!.prefillTokens);
      outputs.push(engine.finishPass().outputs.count);
    }
    expect([tokens, outputs]).toEqual([
      [8, 8, 3, 0],
      [0, 0, 1, 1],
    ]);
  });

  it("serves running sequences first and gives waiting ones what is left", () => {
    const engine = engineWith({ maxNumBatchedTokens: 8 }, distinct({ a: 4, b: 20 }));
    const passes = [1, 2, 3].map(() => {
      const { prefillTokens, decodeSequences } = engine.beginPass(0)!;
      engine.finishPass();
      return [prefillTokens, decodeSequences];
    });
    // a: 4 + b: 4, then one token of a and 7 of b.
    expect(passes).toEqual([
      [8, 1],
      [7, 1],
      [7, 1],
    ]);
  });

  it("keeps a prompt whole without chunking, and the next one waiting", () => {
    const options = { chunkedPrefill: false, maxNumBatchedTokens: 12 };
    const engine = engineWith(options, distinct({ a: 8, b: 8, c: 2 }));

    expect(emittedBy(runPass(engine))).toEqual(["a"]);
    expect(emittedBy(runPass(engine))).toEqual(["a", "b", "c"]);
  });

  it("leaves out running sequences for which there is no budget, in order", () => {
    const engine = engineWith({ maxNumBatchedTokens: 2 }, distinct({ a: 1, b: 1, c: 1 }, 2));

    const emitted = runToEnd(engine).transcript.tokens;

    expect([...emitted.values()].map((tokens) => tokens.length)).toEqual([2, 2, 2]);
  });
});

describe("admission", () => {
  it("runs no more sequences than it may", () => {
    const engine = engineWith({ maxNumSeqs: 2 }, distinct({ a: 4, b: 4, c: 4 }, 2));

    expect(emittedBy(runPass(engine))).toEqual(["a", "b"]);
    expect(engine.load()).toMatchObject({ waitingSequences: 1, waitingPrefillTokens: 4 });
    expect(emittedBy(runPass(engine))).toEqual(["a", "b"]);
    expect(emittedBy(runPass(engine))).toEqual(["c"]);
  });

  it("lets the head of the line block those behind it", () => {
    const engine = engineWith({ blockCount: 8 }, distinct({ a: 20, b: 16, c: 1 }, 2));

    expect(emittedBy(runPass(engine))).toEqual(["a"]);
    expect(engine.load()).toMatchObject({ waitingSequences: 2, activeBlocks: 5 });
    runPass(engine);
    expect(emittedBy(runPass(engine))).toEqual(["b", "c"]);
  });

  it("discounts cached blocks only while they are active", () => {
    const shared = tokensFrom(0, 16);
    const holder = requestOf({ id: "holder", promptTokens: shared, rules: { maxTokens: 9 } });
    const tail = requestOf({ id: "tail", promptTokens: Uint32Array.of(...shared, 1, 2, 3) });
    const engine = engineWith({ blockCount: 6 }, [holder]);
    runPass(engine);

    // 5 blocks needed, 4 of them active in a pool of 6.
    engine.addGenerate(tail);
    const result = runPass(engine);

    expect(result.prefills).toMatchObject([{ request: { id: "tail" }, cachedTokens: 16 }]);
  });
});

describe("prefix reuse", () => {
  function cachedTokens(lengths: readonly number[], options: EngineOptions = {}): number[] {
    const engine = engineOf(options);
    return lengths.map((length, i) => {
      const promptTokens = tokensFrom(0, length);
      engine.addGenerate(requestOf({ id: `${i}`, promptTokens, rules: { maxTokens: 1 } }));
      return runPass(engine).prefills[0]!.cachedTokens;
    });
  }

  it("is by full blocks, and the last token is computed in any case", () => {
    expect(cachedTokens([16, 16, 17, 15, 20])).toEqual([0, 12, 16, 12, 16]);
  });

  it("does not happen without prefix caching", () => {
    expect(cachedTokens([16, 16], { prefixCaching: false })).toEqual([0, 0]);
  });

  it("sees the blocks of a prompt that comes before it in the same pass", () => {
    const prompts = { promptTokens: tokensFrom(0, 16) };
    const engine = engineWith({}, [
      requestOf({ id: "a", ...prompts }),
      requestOf({ id: "b", ...prompts }),
    ]);

    expect(engine.beginPass(0)!.prefillTokens).toBe(16 + 4);
    expect(engine.finishPass().prefills.map((done) => done.cachedTokens)).toEqual([0, 12]);
    expect(engine.load().activeBlocks).toBe(4);
  });

  it("includes what was generated", () => {
    const engine = engineWith({}, [requestOf({ id: "a", rules: { maxTokens: 8 } })]);
    runToEnd(engine);
    const turn2 = Uint32Array.of(...tokensFrom(0, 10), ...tokensFrom(1000, 8), 5);
    engine.addGenerate(requestOf({ id: "b", promptTokens: turn2 }));

    expect(runPass(engine).prefills).toMatchObject([{ cachedTokens: 16 }]);
  });
});

describe("preemption", () => {
  // Two prompts of one block each; both want a second block, a third and so on of the five.
  const crowded = () => distinct({ old: 4, new: 4 }, 12);

  it("takes the blocks of the newest, which is computed again and says the same", () => {
    const engine = engineWith({ blockCount: 5 }, crowded());

    const { transcript, results } = runToEnd(engine);

    const preempted = results.flatMap((result) => idsOf(result.preempted));
    expect(preempted.length).toBeGreaterThan(0);
    expect(new Set(preempted)).toEqual(new Set(["new"]));
    expect(transcript.tokens.get("old/0")).toEqual([...tokensFrom(1000, 12)]);
    expect(transcript.tokens.get("new/0")).toEqual([...tokensFrom(1000, 12)]);
    expect(engine.load()).toMatchObject({ activeBlocks: 0, preemptionsTotal: preempted.length });
  });

  it("takes the blocks of the oldest in fifo mode", () => {
    const engine = engineWith({ blockCount: 5, preemptionMode: "fifo" }, crowded());

    const { transcript, results } = runToEnd(engine);

    expect(results.flatMap((result) => idsOf(result.preempted))[0]).toBe("old");
    expect(transcript.tokens.get("old/0")).toEqual([...tokensFrom(1000, 12)]);
    expect(transcript.tokens.get("new/0")).toEqual([...tokensFrom(1000, 12)]);
  });

  it("puts the victim before those that have not run, and admits nobody in that pass", () => {
    const engine = engineWith({ blockCount: 5, maxNumSeqs: 2 }, [
      ...crowded(),
      requestOf({ id: "last", promptTokens: tokensFrom(5000, 2), rules: { maxTokens: 1 } }),
    ]);
    const order: string[] = [];
    let admittedWithPreemption = 0;
    while (engine.beginPass(0) !== undefined) {
      const result = engine.finishPass();
      if (result.preempted.length > 0) admittedWithPreemption += result.prefills.length;
      order.push(...idsOf(result.ended));
    }
    expect(order.indexOf("last")).toBeGreaterThan(order.indexOf("old"));
    expect(admittedWithPreemption).toBe(0);
  });

  it("reports a prefill once, although a victim's prompt is computed twice", () => {
    const engine = engineWith({ blockCount: 5 }, crowded());
    const prefills = runToEnd(engine).results.flatMap((result) => result.prefills);
    expect(idsOf(prefills.map((done) => done.request))).toEqual(["old", "new"]);
  });

  it.each([
    ["fifo", "a", ["b", "c"]],
    ["lifo", "c", ["a", "b"]],
  ] as const)("gives the budget of a %s victim back to those that stay", (mode, victim, others) => {
    // Three arrive with a block each and fill the pool; only b needs another one. A pass computes two tokens.
    const engine = engineOf({ blockCount: 3, maxNumBatchedTokens: 2, preemptionMode: mode });
    for (const request of distinct({ a: 3, b: 4, c: 3 })) {
      engine.addPrefilled(request, [1000]);
      engine.handoffArrived(request.id, "simulated");
    }

    const result = runPass(engine);

    expect(idsOf(result.preempted)).toEqual([victim]);
    expect(emittedBy(result)).toEqual(others);
  });

  it("recomputes a victim of a handoff as a prompt of its own", () => {
    const engine = engineOf({ blockCount: 5 });
    const [old, moved] = crowded();
    engine.addGenerate(old!);
    runPass(engine);
    engine.addPrefilled(moved!, [1000]);
    engine.handoffArrived("new", "simulated");

    const { results, transcript } = runToEndAfterArrival(engine);

    expect(results.flatMap((result) => idsOf(result.preempted))).toContain("new");
    expect(transcript.at(-1)).toBe(1011);
    expect(results.flatMap((result) => result.prefills)).toEqual([]);
  });
});

/** Runs to the end and collects the tokens of `new`. */
function runToEndAfterArrival(engine: MockEngine<EngineRequest>) {
  const transcript: number[] = [];
  const results: Result[] = [];
  while (engine.beginPass(0) !== undefined) {
    const result = engine.finishPass();
    const { outputs } = result;
    for (let i = 0; i < outputs.count; i++) {
      if (outputs.requests[i]!.id === "new") transcript.push(outputs.tokens[i]!);
    }
    results.push(result);
  }
  return { transcript, results };
}
