import type { ReplayOptions } from "../replay-options.ts";
import type { RequestOutcome } from "../sim/measurements.ts";
import { stagesOf } from "../sim/pool-shape.ts";
import type { ReplayWorker } from "../sim/replay-worker.ts";
import type { SimulationResult } from "../sim/simulation.ts";
import { distributionOf } from "./distribution.ts";
import type { InfiniteCache } from "./infinite-cache.ts";
import type { ReplayReport, WorkerReport } from "./replay-report.ts";

interface NamedResult {
  readonly name: string;
  readonly result: SimulationResult;
}

/** Sums up a replay and its bounds. */
export function reportOf(
  trace: string,
  options: ReplayOptions,
  runs: {
    readonly run: NamedResult;
    readonly pooled: NamedResult;
    readonly baseline: NamedResult | null;
    readonly infinite: InfiniteCache;
  },
): ReplayReport {
  const { run, pooled, baseline, infinite } = runs;
  const { result } = run;
  const { outcomes, refused, itlMs } = result.measurements;
  return {
    trace,
    policy: run.name,
    parameters: options.parameters,
    workers: Object.fromEntries(
      stagesOf(options.shape).map(({ stage, workers }) => [stage, workers]),
    ),
    blocks: options.blocks,
    block_size: options.blockSize,
    speed: options.speed,
    seed: options.seed,
    event_delay_ms: options.eventDelayMs,
    transfer_gbps: options.transferGbps,
    requests: outcomes.length + refused.length,
    refused: refused.length,
    output_tokens: outcomes.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    hit_rate: hitRateOf(result),
    ttft_ms: distributionOf(ttftsOf(result)),
    itl_ms: distributionOf(itlMs.values()),
    duration_s: result.durationMs / 1_000,
    slo: { ttft_ms: options.sloTtftMs, itl_ms: options.sloItlMs },
    goodput_rps: goodputOf(result, options),
    most_queued: result.mostWaiting,
    bounds: {
      pooled: sideOf(pooled.result),
      infinite: { hit_rate: infinite.hitRate, reusable_hit_rate: infinite.reusableHitRate },
    },
    baseline: baseline === null ? null : { policy: baseline.name, ...sideOf(baseline.result) },
    per_worker: result.workers.map((worker) => workerReport(worker, result.durationMs)),
    digest: result.digest,
  };
}

/** Times to the first token of the requests that ended, in the order in which they ended. */
export function ttftsOf({ measurements }: SimulationResult): Float64Array {
  return Float64Array.from(measurements.outcomes, ({ ttftMs }) => ttftMs);
}

/** Share of the prompt blocks that were found in a cache. */
export function hitRateOf({ measurements }: SimulationResult): number {
  const { blocksAsked, blocksFound } = measurements;
  return blocksAsked === 0 ? 0 : blocksFound / blocksAsked;
}

function sideOf(result: SimulationResult): {
  readonly hit_rate: number;
  readonly ttft_ms_mean: number;
} {
  return { hit_rate: hitRateOf(result), ttft_ms_mean: distributionOf(ttftsOf(result)).mean };
}

function goodputOf(result: SimulationResult, options: ReplayOptions): number {
  const { sloTtftMs, sloItlMs } = options;
  const isGood = ({ ttftMs, itlMs }: RequestOutcome) =>
    ttftMs <= (sloTtftMs ?? Number.POSITIVE_INFINITY) &&
    itlMs <= (sloItlMs ?? Number.POSITIVE_INFINITY);
  const good = result.measurements.outcomes.filter(isGood).length;
  return result.durationMs > 0 ? good / (result.durationMs / 1_000) : 0;
}

function workerReport(worker: ReplayWorker, durationMs: number): WorkerReport {
  return {
    id: worker.id,
    requests: worker.requests,
    busy: durationMs > 0 ? worker.busyMs / durationMs : 0,
    preemptions: worker.engine.load().preemptionsTotal,
  };
}
