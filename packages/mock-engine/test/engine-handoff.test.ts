import { describe, expect, it } from "vitest";
import type { EngineRequest, MockEngine } from "../src/index.ts";
import {
  engineOf,
  planFrom,
  planOf,
  requestOf,
  runPass,
  runToEnd,
  Transcript,
  tokensFrom,
} from "./support/builders.ts";

type Engine = MockEngine<EngineRequest>;

/** Runs a request's prefill and returns its first tokens. */
function prefill(engine: Engine, request: EngineRequest): number[] {
  engine.addPrefill(request);
  const { outputs } = runPass(engine);
  return outputs.tokens.slice(0, outputs.count);
}

/** Moves what the destination lacks. */
function pull(
  from: Engine,
  to: Engine,
  id: string,
  cachedBlocks: number,
  totalBlocks: number,
): void {
  for (let index = cachedBlocks; index < totalBlocks; index++) {
    expect(to.importBlock(id, index, from.exportBlock(id, index)!)).toEqual({ kind: "imported" });
  }
}

/** The whole way: prefill on one engine, decode on the other. */
function relay(from: Engine, to: Engine, request: EngineRequest): Transcript {
  const firstTokens = prefill(from, request);
  const outcome = to.addPrefilled(request, firstTokens);
  if (outcome.kind !== "reserved") throw new Error(`unexpected ${outcome.kind}`);
  const { cachedBlocks, totalBlocks } = outcome.reservation;
  pull(from, to, request.id, cachedBlocks, totalBlocks);
  from.releaseHandoff(request.id);
  const arrival = to.handoffArrived(request.id);
  if (arrival.kind !== "ready") throw new Error(`unexpected ${arrival.kind}`);
  const transcript = new Transcript();
  transcript.read(arrival.outputs);
  while (to.beginPass(0) !== undefined) transcript.read(to.finishPass().outputs);
  return transcript;
}

describe("the prefill side", () => {
  it("stops after the first token and holds the prompt until it is released", () => {
    const engine = engineOf();
    engine.addPrefill(requestOf());

    const result = runPass(engine);

    expect(result.prefills).toMatchObject([
      { kind: "prefill", promptTokens: 10, cachedTokens: 0, staged: true },
    ]);
    expect(result.ended).toEqual([]);
    expect(engine.beginPass(0)).toBeUndefined();
    expect(engine.load()).toMatchObject({
      activeBlocks: 3,
      stagedHandoffs: 1,
      runningSequences: 0,
    });
    expect([engine.releaseHandoff("a"), engine.releaseHandoff("a")]).toEqual([true, false]);
    expect(engine.load()).toMatchObject({ activeBlocks: 0, cachedBlocks: 2, stagedHandoffs: 0 });
  });

  it.each([
    ["maxTokens is 1", { maxTokens: 1 }, "length"],
    ["the first token is eos", { maxTokens: 9, eosTokenIds: new Set([1000]) }, "eos"],
    ["the first token is a stop", { maxTokens: 9, stopTokenIds: new Set([1000]) }, "stop"],
  ] as const)("ends the generation and frees the prompt when %s", (_, rules, finish) => {
    const engine = engineOf();
    const request = requestOf({ rules });
    engine.addPrefill(request);

    const result = runPass(engine);

    expect(result.outputs.finishes[0]).toBe(finish);
    expect(result.prefills).toMatchObject([{ staged: false }]);
    expect(result.ended).toEqual([request]);
    expect(engine.load()).toMatchObject({ activeBlocks: 0, stagedHandoffs: 0 });
  });

  it("samples a first token for each choice and stages if any goes on", () => {
    const engine = engineOf();
    const rules = { maxTokens: 4, eosTokenIds: new Set([100]) };
    engine.addPrefill(requestOf({ plans: [planFrom(100), planFrom(200)], rules }));

    const { outputs, prefills } = runPass(engine);

    expect(outputs.tokens.slice(0, outputs.count)).toEqual([100, 200]);
    expect(outputs.finishes.slice(0, outputs.count)).toEqual(["eos", undefined]);
    expect(prefills).toMatchObject([{ staged: true }]);
  });

  it("frees a staged prompt that is cancelled", () => {
    const engine = engineOf();
    prefill(engine, requestOf());

    expect(engine.cancel("a")).toBe(true);

    expect(engine.load()).toMatchObject({ activeBlocks: 0, stagedHandoffs: 0 });
    expect(engine.exportBlock("a", 0)).toBeUndefined();
  });

  it("exports the blocks of a staged prompt, and no others", () => {
    const engine = engineOf();
    prefill(engine, requestOf());

    expect(engine.exportBlock("a", 2)).toEqual(Uint8Array.of(8, 0, 0, 0, 9, 0, 0, 0));
    expect(engine.exportBlock("a", 0)).toHaveLength(16);
    expect([engine.exportBlock("a", 3), engine.exportBlock("a", -1)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(engine.exportBlock("other", 0)).toBeUndefined();
  });

  it("keeps a staged prompt from being evicted, and lets later prompts reuse it", () => {
    const engine = engineOf({ blockCount: 4 });
    prefill(engine, requestOf({ id: "a", promptTokens: tokensFrom(0, 8) }));
    prefill(engine, requestOf({ id: "b", promptTokens: tokensFrom(50, 8) }));
    engine.addGenerate(requestOf({ id: "c", promptTokens: tokensFrom(90, 8) }));

    expect(engine.beginPass(0)).toBeUndefined();
    engine.releaseHandoff("a");
    expect(engine.beginPass(0)).toBeDefined();
    expect(engine.exportBlock("b", 0)).toBeDefined();
  });
});

describe("the decode side", () => {
  it("starts with the first token at arrival and goes on from there", () => {
    const engine = engineOf();
    const outcome = engine.addPrefilled(requestOf(), [1000]);
    expect(outcome).toMatchObject({
      kind: "reserved",
      reservation: { cachedBlocks: 0, totalBlocks: 3 },
    });
    expect(engine.beginPass(0)).toBeUndefined();
    expect(engine.load()).toMatchObject({ activeBlocks: 3, reservedHandoffs: 1 });

    const arrival = engine.handoffArrived("a", "simulated");

    expect(arrival).toMatchObject({ kind: "ready", ended: false });
    const transcript = new Transcript();
    if (arrival.kind === "ready") transcript.read(arrival.outputs);
    const first = engine.beginPass(0)!;
    expect(first).toMatchObject({ prefillTokens: 0, decodeSequences: 1 });
    transcript.read(engine.finishPass().outputs);
    while (engine.beginPass(0) !== undefined) transcript.read(engine.finishPass().outputs);
    expect(transcript.tokens.get("a/0")).toEqual([1000, 1001, 1002]);
    expect(engine.load()).toMatchObject({ activeBlocks: 0, reservedHandoffs: 0 });
  });

  it("lacks only what is not cached, and caches what arrives", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ id: "before", rules: { maxTokens: 1 } }));
    runToEnd(engine);
    const prompt = tokensFrom(0, 18);

    const outcome = engine.addPrefilled(requestOf({ promptTokens: prompt }), [1000]);
    expect(outcome).toMatchObject({ reservation: { cachedBlocks: 2, totalBlocks: 5 } });
    expect(engine.takeEvents()).toEqual([]);
    engine.handoffArrived("a", "simulated");
    expect(engine.takeEvents()).toMatchObject([{ kind: "stored", blockHashes: { length: 16 } }]);
  });

  it("may have a whole prompt of full blocks already", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ id: "before", promptTokens: tokensFrom(0, 8) }));
    runToEnd(engine);

    const outcome = engine.addPrefilled(requestOf({ promptTokens: tokensFrom(0, 8) }), [1000]);

    expect(outcome).toMatchObject({ reservation: { cachedBlocks: 2, totalBlocks: 2 } });
    expect(engine.handoffArrived("a")).toMatchObject({ kind: "ready" });
  });

  it("does not start before every missing block has come", () => {
    const source = engineOf();
    const engine = engineOf();
    prefill(source, requestOf());
    engine.addPrefilled(requestOf(), [1000]);
    engine.importBlock("a", 1, source.exportBlock("a", 1)!);

    expect(engine.handoffArrived("a")).toEqual({ kind: "incomplete", missing: [0, 2] });
    pull(source, engine, "a", 0, 3);
    expect(engine.handoffArrived("a")).toMatchObject({ kind: "ready" });
    expect(engine.handoffArrived("a")).toEqual({ kind: "unknown_handoff" });
  });

  it("refuses the blocks of another prompt and of an unknown handoff", () => {
    const source = engineOf();
    const engine = engineOf();
    prefill(source, requestOf({ promptTokens: tokensFrom(500, 10) }));
    engine.addPrefilled(requestOf(), [1000]);
    const foreign = source.exportBlock("a", 0)!;

    expect(engine.importBlock("a", 0, foreign)).toMatchObject({ reason: "content_mismatch" });
    expect(engine.importBlock("b", 0, foreign)).toMatchObject({ reason: "unknown_handoff" });
  });

  it("queues what has no room, before any new prompt, and tells when it has", () => {
    const engine = engineOf({ blockCount: 6 });
    engine.addGenerate(
      requestOf({ id: "busy", promptTokens: tokensFrom(0, 16), rules: { maxTokens: 2 } }),
    );
    runPass(engine);
    const arriving = requestOf({ id: "arriving", promptTokens: tokensFrom(100, 12) });
    const fresh = requestOf({ id: "fresh", promptTokens: tokensFrom(200, 4) });

    expect(engine.addPrefilled(arriving, [1000])).toEqual({ kind: "queued" });
    engine.addGenerate(fresh);
    const whileBusy = runPass(engine);
    const afterwards = runPass(engine);

    expect([whileBusy.reserved, whileBusy.prefills]).toEqual([[], []]);
    expect(afterwards.reserved).toEqual([{ request: arriving, cachedBlocks: 0, totalBlocks: 3 }]);
    expect(afterwards.prefills).toMatchObject([{ request: fresh }]);
  });

  it("keeps the number of sequences below its limit with those that are on the way", () => {
    const engine = engineOf({ maxNumSeqs: 2 });
    const plans = [planFrom(100), planFrom(200)];
    engine.addPrefilled(requestOf({ id: "a", plans }), [100, 200]);
    engine.addGenerate(requestOf({ id: "b" }));

    expect(engine.addPrefilled(requestOf({ id: "c" }), [1000])).toEqual({ kind: "queued" });
    expect(engine.beginPass(0)).toBeUndefined();
    engine.cancel("a");
    expect(runPass(engine).reserved).toMatchObject([{ request: { id: "c" } }]);
  });

  it("frees a queued and a reserved handoff when they are cancelled", () => {
    const engine = engineOf({ blockCount: 3 });
    engine.addPrefilled(requestOf({ id: "a" }), [1000]);
    engine.addPrefilled(requestOf({ id: "b" }), [1000]);
    expect(engine.load()).toMatchObject({ reservedHandoffs: 1, queuedHandoffs: 1 });

    engine.cancel("b");
    engine.cancel("a");

    expect(engine.load()).toMatchObject({
      activeBlocks: 0,
      reservedHandoffs: 0,
      queuedHandoffs: 0,
    });
    expect(engine.importBlock("a", 0, new Uint8Array(16))).toMatchObject({ kind: "refused" });
  });

  it("refuses first tokens of another number than there are choices", () => {
    expect(engineOf().addPrefilled(requestOf(), [])).toEqual({
      kind: "rejected",
      reason: "first_tokens_mismatch",
    });
  });

  it("forks after the pull and ends choices whose first token ends them", () => {
    const engine = engineOf();
    const plans = [planFrom(100), planFrom(200), planOf()];
    const rules = { maxTokens: 3, eosTokenIds: new Set([100]) };
    engine.addPrefilled(requestOf({ plans, rules }), [100, 200, -1]);

    const arrival = engine.handoffArrived("a", "simulated");

    if (arrival.kind !== "ready") throw new Error("not ready");
    expect(arrival.outputs.finishes.slice(0, 3)).toEqual(["eos", undefined, "eos"]);
    expect(engine.load()).toMatchObject({ activeBlocks: 3, runningSequences: 1 });
  });

  it("says at arrival when nothing goes on", () => {
    const engine = engineOf();
    engine.addPrefilled(requestOf({ rules: { maxTokens: 1 } }), [1000]);

    expect(engine.handoffArrived("a", "simulated")).toMatchObject({ kind: "ready", ended: true });
    expect(engine.beginPass(0)).toBeUndefined();
    expect(engine.load().activeBlocks).toBe(0);
  });

  it("takes an arrival while a pass is under way, from the next pass on", () => {
    const engine = engineOf();
    engine.addGenerate(requestOf({ id: "other" }));
    engine.addPrefilled(requestOf({ promptTokens: tokensFrom(100, 8) }), [1000]);
    engine.beginPass(0);
    engine.handoffArrived("a", "simulated");

    const during = engine.finishPass();
    expect(during.outputs.requests.slice(0, during.outputs.count)).toMatchObject([{ id: "other" }]);
    expect(during.events).toHaveLength(2);
    expect(runPass(engine).outputs.count).toBe(2);
  });
});

describe("a relay", () => {
  const rules = { maxTokens: 12, eosTokenIds: new Set([208]) };
  const plans = [planFrom(100), planFrom(200), planOf(300)];

  it.each([
    [1, 9],
    [3, 9],
    [3, 16],
    [2, 33],
  ])("says with %d choices and %d prompt tokens what one engine says alone", (choices, length) => {
    const request = requestOf({
      plans: plans.slice(0, choices),
      promptTokens: tokensFrom(0, length),
      rules,
    });
    const alone = engineOf();
    alone.addGenerate(request);

    const { transcript } = runToEnd(alone);

    const relayed = relay(engineOf(), engineOf(), request);
    expect(Object.fromEntries(relayed.tokens)).toEqual(Object.fromEntries(transcript.tokens));
    expect(Object.fromEntries(relayed.finishes)).toEqual(Object.fromEntries(transcript.finishes));
  });

  it("moves the second of two prompts with a long common prefix without the prefix", () => {
    const from = engineOf();
    const to = engineOf();
    relay(from, to, requestOf({ id: "a", promptTokens: tokensFrom(0, 42) }));
    const second = requestOf({
      id: "b",
      promptTokens: Uint32Array.of(...tokensFrom(0, 42), 7, 8, 9, 10),
    });
    const firstTokens = prefill(from, second);

    expect(to.addPrefilled(second, firstTokens)).toMatchObject({
      reservation: { cachedBlocks: 10, totalBlocks: 12 },
    });
  });
});
