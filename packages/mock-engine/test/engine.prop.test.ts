import fc from "fast-check";
import { expect, it } from "vitest";
import { simulatedKv } from "../src/handoff.ts";
import type {
  EngineOptions,
  EngineRequest,
  HandoffReservation,
  MockEngine,
  PassResult,
  StepOutputs,
} from "../src/index.ts";
import { EventFollower, engineOf, planFrom, requestOf } from "./support/builders.ts";

interface RequestShape {
  readonly kind: "generate" | "prefill" | "decode";
  /** Blocks of the prompt, by name, so that prompts share prefixes. */
  readonly blocks: readonly number[];
  readonly tail: number;
  readonly choices: number;
  readonly maxTokens: number;
}

type Step =
  | { readonly kind: "add"; readonly shape: RequestShape }
  | { readonly kind: "pass" }
  | { readonly kind: "begin" }
  | { readonly kind: "finish" }
  | { readonly kind: "cancel"; readonly which: number; readonly choice: number | undefined }
  | { readonly kind: "release" | "arrive"; readonly which: number }
  | { readonly kind: "clear" };

const shape: fc.Arbitrary<RequestShape> = fc.record({
  kind: fc.constantFrom("generate" as const, "prefill" as const, "decode" as const),
  blocks: fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 4 }),
  tail: fc.integer({ min: 0, max: 3 }),
  choices: fc.integer({ min: 1, max: 3 }),
  maxTokens: fc.integer({ min: 1, max: 12 }),
});

const which = fc.nat(20);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("add" as const), shape }) },
  { weight: 8, arbitrary: fc.constant({ kind: "pass" as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: "begin" as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: "finish" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("cancel" as const),
      which,
      choice: fc.option(fc.nat(3), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release" as const), which }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("arrive" as const), which }) },
  { weight: 1, arbitrary: fc.constant({ kind: "clear" as const }) },
);

const options: fc.Arbitrary<EngineOptions> = fc.record({
  blockCount: fc.integer({ min: 4, max: 14 }),
  maxNumSeqs: fc.integer({ min: 3, max: 6 }),
  maxNumBatchedTokens: fc.constantFrom(3, 7, 20, 100),
  preemptionMode: fc.constantFrom("lifo" as const, "fifo" as const),
  prefixCaching: fc.boolean(),
  chunkedPrefill: fc.boolean(),
});

it("keeps its books in any history, and holds nothing once all is ended and released", () => {
  fc.assert(
    fc.property(options, fc.array(step, { maxLength: 80 }), (engineOptions, steps) => {
      const history = new History(engineOptions);
      for (const each of steps) {
        history.take(each);
        history.check();
      }
      history.finishAll();
    }),
    { numRuns: 500 },
  );
});

type RequestState = "live" | "ended" | "cancelled" | "staged" | "released";

/** Drives an engine and keeps a plain record of what must be true. */
class History {
  private readonly engine: MockEngine<EngineRequest>;
  private readonly follower = new EventFollower();
  private readonly states = new Map<string, RequestState>();
  private readonly reservations = new Map<string, HandoffReservation<EngineRequest>>();
  private readonly streams = new Map<string, number>();
  private readonly finished = new Set<string>();
  private passOpen = false;
  private added = 0;

  constructor(engineOptions: EngineOptions) {
    this.engine = engineOf(engineOptions);
  }

  take(each: Step): void {
    if (each.kind === "add") this.add(each.shape);
    else if (each.kind === "cancel") this.cancel(each.which, each.choice);
    else if (each.kind === "release") this.release(each.which);
    else if (each.kind === "arrive") this.arrive(each.which);
    else if (each.kind === "clear") this.engine.clearCache();
    else this.runPart(each.kind);
  }

  check(): void {
    const load = this.engine.load();
    expect(load.activeBlocks + load.cachedBlocks + load.freeBlocks).toBe(load.totalBlocks);
    expect(load.activeBlocks).toBeGreaterThanOrEqual(0);
    expect(load.runningSequences).toBeLessThanOrEqual(this.engine.options.maxNumSeqs);
    expect(load.stagedHandoffs).toBe(this.withState("staged").length);
    expect(load.waitingSequences === 0).toBe(load.waitingPrefillTokens === 0);
    // What a pass reserves as it begins is told with its result.
    expect(load.reservedHandoffs).toBeGreaterThanOrEqual(this.reservations.size);
    if (this.passOpen) return;
    expect(load.reservedHandoffs).toBe(this.reservations.size);
    this.follower.apply(this.engine.takeEvents());
    const late = new EventFollower();
    late.apply(this.engine.snapshot());
    expect(late.parents).toEqual(this.follower.parents);
  }

  /** Lets everything come to its end. It must, in bounded time. */
  finishAll(): void {
    this.finish();
    for (let rounds = 0; this.withState("live", "staged").length > 0; rounds++) {
      expect(rounds).toBeLessThan(2000);
      for (let i = this.reservations.size; i > 0; i--) this.arrive(0);
      for (let i = this.withState("staged").length; i > 0; i--) this.release(0);
      const idle = !this.begin();
      this.finish();
      expect(idle && this.withState("live").length > 0 && this.reservations.size === 0).toBe(false);
      this.check();
    }
    expect(this.engine.load()).toMatchObject({
      activeBlocks: 0,
      runningSequences: 0,
      waitingSequences: 0,
      waitingPrefillTokens: 0,
      stagedHandoffs: 0,
      reservedHandoffs: 0,
      queuedHandoffs: 0,
    });
    expect(this.follower.parents.size).toBe(this.engine.load().cachedBlocks);
    this.takesAFullLoadAgain();
  }

  /** Slots that leaked would show here. */
  private takesAFullLoadAgain(): void {
    const { maxNumSeqs } = this.engine.options;
    const plans = Array.from({ length: maxNumSeqs }, () => planFrom(1));
    const full = requestOf({
      id: "full",
      promptTokens: Uint32Array.of(1),
      plans,
      rules: { maxTokens: 1 },
    });
    expect(this.engine.addGenerate(full)).toEqual({ kind: "accepted" });
    expect(this.engine.beginPass(0)).toBeDefined();
    expect(this.engine.finishPass().ended).toEqual([full]);
  }

  private add(from: RequestShape): void {
    const id = `r${this.added++}`;
    const promptTokens = promptOf(from);
    const plans = Array.from({ length: from.choices }, (_, choice) => planFrom(100 * (choice + 1)));
    const request = requestOf({ id, promptTokens, plans, rules: { maxTokens: from.maxTokens } });
    if (from.kind === "decode") {
      const firsts = plans.map((plan) => plan.next(0)!);
      const outcome = this.engine.addPrefilled(request, firsts);
      if (outcome.kind === "reserved") this.reservations.set(id, outcome.reservation);
      if (outcome.kind !== "rejected") this.states.set(id, "live");
      return;
    }
    const outcome =
      from.kind === "generate" ? this.engine.addGenerate(request) : this.engine.addPrefill(request);
    if (outcome.kind === "accepted") this.states.set(id, "live");
  }

  private runPart(part: "pass" | "begin" | "finish"): void {
    if (part !== "finish") this.begin();
    if (part !== "begin") this.finish();
  }

  private begin(): boolean {
    if (!this.passOpen) this.passOpen = this.engine.beginPass(0) !== undefined;
    return this.passOpen;
  }

  private finish(): void {
    if (!this.passOpen) return;
    this.passOpen = false;
    this.readResult(this.engine.finishPass());
  }

  private readResult(result: PassResult<EngineRequest>): void {
    this.follower.apply(result.events);
    this.readOutputs(result.outputs);
    for (const reservation of result.reserved) {
      if (this.states.get(reservation.request.id) === "cancelled") continue;
      this.reservations.set(reservation.request.id, reservation);
    }
    for (const done of result.prefills) {
      if (done.staged) this.move(done.request.id, "staged");
      expect(done.cachedTokens).toBeLessThan(done.promptTokens);
      expect(done.cachedTokens % 4).toBe(0);
    }
    for (const request of result.ended) this.move(request.id, "ended");
  }

  private readOutputs(outputs: StepOutputs<EngineRequest>): void {
    for (let i = 0; i < outputs.count; i++) {
      const request = outputs.requests[i]!;
      const key = `${request.id}/${outputs.choices[i]}`;
      expect(this.states.get(request.id)).toBe("live");
      expect(this.finished.has(key)).toBe(false);
      expect(outputs.positions[i]).toBe(this.streams.get(key) ?? 0);
      expect(outputs.tokens[i]).toBe(
        request.plans[outputs.choices[i]!]!.next(outputs.positions[i]!),
      );
      this.streams.set(key, outputs.positions[i]! + 1);
      if (outputs.finishes[i] !== undefined) this.finished.add(key);
    }
  }

  private cancel(at: number, choice: number | undefined): void {
    const id = this.pick(this.withState("live", "staged"), at);
    if (id === undefined) return;
    const found = this.engine.cancel(id, choice);
    if (choice === undefined) expect(found).toBe(true);
    else if (found) this.finished.add(`${id}/${choice}`);
    // A request of which a choice is left goes on.
    if (choice !== undefined && this.engine.has(id)) return;
    expect(this.engine.has(id)).toBe(false);
    this.move(id, "cancelled");
    this.reservations.delete(id);
  }

  private release(at: number): void {
    const id = this.pick(this.withState("staged"), at);
    if (id === undefined) return;
    expect(this.engine.exportBlock(id, 0)).toBeDefined();
    expect(this.engine.releaseHandoff(id)).toBe(true);
    expect(this.engine.releaseHandoff(id)).toBe(false);
    this.move(id, "released");
  }

  private arrive(at: number): void {
    const id = this.pick([...this.reservations.keys()], at);
    if (id === undefined) return;
    const { request, cachedBlocks, totalBlocks } = this.reservations.get(id)!;
    for (let index = cachedBlocks; index < totalBlocks; index++) {
      expect(this.engine.handoffArrived(id)).toMatchObject({ kind: "incomplete" });
      const bytes = simulatedKv(request.promptTokens, index, 4);
      expect(this.engine.importBlock(id, index, bytes)).toEqual({ kind: "imported" });
    }
    const arrival = this.engine.handoffArrived(id);
    this.reservations.delete(id);
    if (arrival.kind !== "ready") throw new Error(`unexpected ${arrival.kind}`);
    this.readOutputs(arrival.outputs);
    if (arrival.ended) this.move(id, "ended");
  }

  private move(id: string, state: RequestState): void {
    const from = this.states.get(id);
    expect(from === "live" || (from === "staged" && state !== "staged")).toBe(true);
    this.states.set(id, state);
  }

  private withState(...states: RequestState[]): string[] {
    return [...this.states].filter(([, state]) => states.includes(state)).map(([id]) => id);
  }

  private pick(ids: readonly string[], at: number): string | undefined {
    return ids.length === 0 ? undefined : ids[at % ids.length];
  }
}

it("says the same whatever pool, budget and neighbours a request has", () => {
  const neighbours = fc.array(shape, { maxLength: 6 });
  fc.assert(
    fc.property(options, neighbours, shape, (engineOptions, others, own) => {
      const history = new Solo(engineOptions);
      for (const [i, other] of others.entries()) history.add(other, `other${i}`);
      if (!history.add({ ...own, kind: "generate" }, "own")) return;
      const streams = history.run("own");
      const expected = Array.from({ length: own.choices }, (_, choice) =>
        Array.from({ length: own.maxTokens }, (_token, i) => 100 * (choice + 1) + i),
      );
      streams.forEach((stream, choice) => {
        expect(stream).toEqual(expected[choice]!.slice(0, stream.length));
        expect(stream.length === own.maxTokens || history.hitsTheLimit(own, stream.length)).toBe(
          true,
        );
      });
      expect(streams).toHaveLength(own.choices);
    }),
    { numRuns: 300 },
  );
});

class Solo {
  private readonly engine: MockEngine<EngineRequest>;

  constructor(engineOptions: EngineOptions) {
    this.engine = engineOf(engineOptions);
  }

  add(from: RequestShape, id: string): boolean {
    const promptTokens = promptOf(from);
    const plans = Array.from({ length: from.choices }, (_, choice) => planFrom(100 * (choice + 1)));
    const request = requestOf({ id, promptTokens, plans, rules: { maxTokens: from.maxTokens } });
    return this.engine.addGenerate(request).kind === "accepted";
  }

  run(id: string): number[][] {
    const streams: number[][] = [];
    while (this.engine.beginPass(0) !== undefined) {
      const { outputs } = this.engine.finishPass();
      for (let i = 0; i < outputs.count; i++) {
        if (outputs.requests[i]!.id !== id) continue;
        const stream = streams[outputs.choices[i]!] ?? [];
        streams[outputs.choices[i]!] = stream;
        stream.push(outputs.tokens[i]!);
      }
    }
    return streams;
  }

  /** Whether the model's or the pool's limit ends a sequence with so many output tokens. */
  hitsTheLimit(from: RequestShape, outputTokens: number): boolean {
    const { blockCount, maxModelLen } = this.engine.options;
    const length = promptOf(from).length + outputTokens;
    return length === Math.min(maxModelLen, blockCount * 4 + 1);
  }
}

function promptOf(from: RequestShape): Uint32Array {
  return Uint32Array.from([
    ...from.blocks.flatMap((block) => [block, block + 10, block + 20, block + 30]),
    ...Array.from({ length: from.tail }, (_, i) => i),
  ]);
}
