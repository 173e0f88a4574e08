import type { EndRules, EngineRequest, OutputPlan, PromptHashes } from "@baton/mock-engine";
import type { RequestId } from "@baton/protocol";
import type { Arrival } from "../trace/plan-arrivals.ts";
import { firstOutputToken, type Prompt } from "./prompt-maker.ts";
import type { ReplayWorker } from "./replay-worker.ts";

/** A request in flight: what engines and routers need of it, and what was measured so far. */
export class ReplayRequest implements EngineRequest {
  readonly id: RequestId;
  readonly index: number;
  readonly promptTokens: Uint32Array;
  readonly promptHashes: PromptHashes;
  readonly plans: readonly OutputPlan[];
  readonly rules: EndRules;
  readonly arrivedMs: number;
  readonly sequenceHashes: Uint8Array;
  /** Blocks of the prompt, a partial last one included. */
  readonly promptBlocks: number;
  /** Who computed the prompt, and who generates. */
  prefillWorker: ReplayWorker | null = null;
  decodeWorker: ReplayWorker | null = null;
  cachedBlocks = 0;
  outputTokens = 0;
  firstTokenMs = -1;
  lastTokenMs = -1;

  constructor(arrival: Arrival, prompt: Prompt, arrivedMs: number, blockSize: number) {
    const { index, row } = arrival;
    this.id = `r${index}` as RequestId;
    this.index = index;
    this.promptTokens = prompt.tokens;
    this.promptHashes = { blockHashes: prompt.hashes, sequenceHashes: prompt.hashes };
    this.plans = [countingPlan(firstOutputToken(index))];
    this.rules = { maxTokens: row.outputTokens };
    this.arrivedMs = arrivedMs;
    this.sequenceHashes = prompt.hashes;
    this.promptBlocks = Math.ceil(row.promptTokens / blockSize);
  }
}

/** An output that is nobody else's. */
function countingPlan(first: number): OutputPlan {
  return { next: (index) => (first + index) >>> 0 };
}
