import {
  type EngineOptions,
  type EngineRequest,
  fixedTiming,
  type KvEvent,
  MockEngine,
  type OutputPlan,
  type PassResult,
  type StepOutputs,
  type TimingModel,
} from "../../src/index.ts";
import { testHasher } from "./test-hasher.ts";

export const noTime: TimingModel = fixedTiming({ prefillMs: 0, decodeMs: 0 });

/** 1000, 1001, 1002 … */
export const countingPlan: OutputPlan = planFrom(1000);

export function planFrom(first: number): OutputPlan {
  return { next: (index) => first + index };
}

/** A plan with just these tokens. */
export function planOf(...tokens: number[]): OutputPlan {
  return { next: (index) => tokens[index] };
}

/** `length` token ids from `from` on. */
export function tokensFrom(from: number, length: number): Uint32Array {
  return Uint32Array.from({ length }, (_, i) => from + i);
}

export interface RequestParts extends Partial<Omit<EngineRequest, "rules">> {
  readonly rules?: Partial<EngineRequest["rules"]>;
}

/** A request for one choice of three tokens after the prompt 0, 1, … 9. */
export function requestOf(parts: RequestParts = {}): EngineRequest {
  return {
    id: "a",
    promptTokens: tokensFrom(0, 10),
    plans: [countingPlan],
    ...parts,
    rules: { maxTokens: 3, ...parts.rules },
  };
}

/** An engine with blocks of 4 tokens that takes no time, unless told otherwise. */
export function engineOf(
  options: EngineOptions = {},
  timing: TimingModel = noTime,
): MockEngine<EngineRequest> {
  return new MockEngine(
    { blockSize: 4, blockCount: 64, ...options },
    { hasher: testHasher, timing },
  );
}

/** One pass at time 0; fails if there is nothing to do. */
export function runPass(engine: MockEngine<EngineRequest>): PassResult<EngineRequest> {
  if (engine.beginPass(0) === undefined) throw new Error("there is no pass to run");
  return engine.finishPass();
}

/** Tokens and finish reasons by request and choice, as `id/choice`. It may begin in the middle of a stream. */
export class Transcript {
  private readonly positions = new Map<string, number>();
  readonly tokens = new Map<string, number[]>();
  readonly finishes = new Map<string, string>();

  read(outputs: StepOutputs<EngineRequest>): void {
    for (let i = 0; i < outputs.count; i++) {
      const key = `${outputs.requests[i]!.id}/${outputs.choices[i]}`;
      const stream = this.tokens.get(key) ?? [];
      this.tokens.set(key, stream);
      if (this.finishes.has(key)) throw new Error(`${key} went on after its end`);
      if (outputs.tokens[i] !== -1) {
        const position = outputs.positions[i]!;
        if (position !== (this.positions.get(key) ?? position))
          throw new Error(`${key} skipped a position`);
        this.positions.set(key, position + 1);
        stream.push(outputs.tokens[i]!);
      }
      const finish = outputs.finishes[i];
      if (finish !== undefined) this.finishes.set(key, finish);
    }
  }
}

/** Runs passes until there is nothing to do. */
export function runToEnd(engine: MockEngine<EngineRequest>): {
  transcript: Transcript;
  results: PassResult<EngineRequest>[];
} {
  const transcript = new Transcript();
  const results: PassResult<EngineRequest>[] = [];
  while (engine.beginPass(0) !== undefined) {
    const result = engine.finishPass();
    transcript.read(result.outputs);
    results.push(result);
    if (results.length > 100_000) throw new Error("the engine does not come to an end");
  }
  return { transcript, results };
}

/** Hashes (8 bytes each) as hex strings. */
export function hexHashes(bytes: Uint8Array): string[] {
  const hashes: string[] = [];
  for (let at = 0; at < bytes.length; at += 8) {
    hashes.push(
      Array.from(bytes.subarray(at, at + 8), (b) => b.toString(16).padStart(2, "0")).join(""),
    );
  }
  return hashes;
}

/** A follower of KV events: which sequence hashes are cached, each with its parent's. Refuses what does not fit. */
export class EventFollower {
  readonly parents = new Map<string, string | undefined>();

  apply(events: readonly KvEvent[]): void {
    for (const event of events) this.applyOne(event);
  }

  private applyOne(event: KvEvent): void {
    if (event.kind === "cleared") {
      this.parents.clear();
      return;
    }
    if (event.kind === "removed") {
      for (const hash of hexHashes(event.sequenceHashes)) this.remove(hash);
      return;
    }
    let parent = event.parent === undefined ? undefined : hexHashes(event.parent)[0];
    if (event.blockHashes.length !== event.sequenceHashes.length) throw new Error("lengths differ");
    for (const hash of hexHashes(event.sequenceHashes)) {
      if (this.parents.has(hash)) throw new Error(`${hash} was stored twice`);
      if (parent !== undefined && !this.parents.has(parent))
        throw new Error(`${hash} has no parent`);
      this.parents.set(hash, parent);
      parent = hash;
    }
  }

  private remove(hash: string): void {
    if (!this.parents.delete(hash)) throw new Error(`${hash} is not stored`);
    for (const parent of this.parents.values()) {
      if (parent === hash) throw new Error(`${hash} was removed before its child`);
    }
  }
}
