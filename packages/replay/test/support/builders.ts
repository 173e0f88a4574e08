import { fileURLToPath } from "node:url";
import { createBlockHasherFromModule } from "@baton/kv-router";
import { type EngineOptions, MockEngine, polynomialTiming } from "@baton/mock-engine";
import { workerId } from "@baton/protocol";
import type { ReplayOptions } from "../../src/index.ts";
import { ReplayRequest } from "../../src/sim/replay-request.ts";
import { type PassListener, ReplayWorker } from "../../src/sim/replay-worker.ts";
import type { VirtualTime } from "../../src/sim/virtual-time.ts";
import type { Arrival } from "../../src/trace/plan-arrivals.ts";
import type { TraceRow } from "../../src/trace/trace-row.ts";

export const timing = polynomialTiming();
export const testHasher = createBlockHasherFromModule();

/** A trace of the repository's test data. */
export const dynamoTrace = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/data/dynamo/${name}`, import.meta.url));

/** One block of 512 tokens at 0 ms and one token of output, changed by `facts`. */
export function rowOf(
  facts: Partial<Omit<TraceRow, "hashIds">> & { ids?: number[] } = {},
): TraceRow {
  const { ids = [1], ...rest } = facts;
  return {
    line: 1,
    stampMs: 0,
    promptTokens: ids.length * 512,
    outputTokens: 1,
    hashIds: Float64Array.from(ids),
    sessionId: null,
    delayMs: null,
    ...rest,
  };
}

/** An arrival of a row by itself. */
export function arrivalOf(row: TraceRow = rowOf(), facts: Partial<Arrival> = {}): Arrival {
  return { index: 0, row, atMs: 0, after: null, delayMs: 0, ...facts };
}

/** Two aggregated workers, least-loaded. */
export function optionsOf(facts: Partial<ReplayOptions> = {}): ReplayOptions {
  return {
    policy: "least-loaded",
    parameters: {},
    shape: { kind: "aggregated", workers: 2 },
    blocks: 256,
    blockSize: 512,
    traceBlockSize: 512,
    speed: 1,
    limit: null,
    seed: 1,
    eventDelayMs: 0,
    transferGbps: 0,
    sloTtftMs: null,
    sloItlMs: null,
    ...facts,
  };
}

/** A request whose prompt is as many blocks as its tokens need. */
export function requestOf(
  index = 0,
  ids: readonly number[] = [1],
  outputTokens = 1,
): ReplayRequest {
  const row = rowOf({ ids: [...ids], outputTokens });
  const tokens = Uint32Array.from({ length: row.promptTokens }, (_, at) => (ids[0] ?? 0) + at);
  const blockHashes = testHasher.blockHashes(tokens, 512);
  const prompt = { tokens, hashes: testHasher.sequenceHashes(blockHashes) };
  return new ReplayRequest(arrivalOf(row, { index }), prompt, 0, 512);
}

/** A worker with an engine of its own. */
export function workerOf(
  time: VirtualTime,
  facts: {
    readonly index?: number;
    readonly type?: ReplayWorker["type"];
    readonly engine?: EngineOptions;
    readonly onPass?: PassListener;
  } = {},
): ReplayWorker {
  const { index = 0, type = "aggregated", onPass = () => undefined } = facts;
  const engine = new MockEngine<ReplayRequest>(
    { blockCount: 64, blockSize: 512, ...facts.engine },
    { hasher: testHasher, timing },
  );
  return new ReplayWorker({ id: workerId(`${type}-${index}`), index, type }, engine, {
    time,
    onPass,
  });
}
