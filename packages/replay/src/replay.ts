import { createBlockHasherFromModule, type RoutingCore } from "@baton/kv-router";
import { SeededRandom } from "@baton/runtime";
import type { ReplayOptions } from "./replay-options.ts";
import { infiniteCache } from "./report/infinite-cache.ts";
import type { ReplayReport } from "./report/replay-report.ts";
import { reportOf } from "./report/report-of.ts";
import { createStageCore } from "./sim/create-stage-core.ts";
import { Simulation, type SimulationResult } from "./sim/simulation.ts";
import type { Stage } from "./sim/stage-router.ts";
import { planArrivals } from "./trace/plan-arrivals.ts";
import type { TraceRow } from "./trace/trace-row.ts";

/** What a replay may be given. */
export interface ReplayDeps {
  /** Routers of one's own, instead of those of `options.policy` with its parameters. */
  readonly own?: OwnRouting;
  /** Called as work proceeds, with the share that is done, 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** Routing by cores of one's own. */
export interface OwnRouting {
  /** What the report calls it. */
  readonly name: string;
  /** The core of a stage's router, without workers. */
  readonly createCore: (stage: Stage) => RoutingCore;
}

/** One run of the trace, by the policy or for comparison. */
export interface ReplayRun {
  readonly name: string;
  readonly result: SimulationResult;
}

/** A replay with what its report is drawn from. */
export interface Replay {
  readonly report: ReplayReport;
  readonly run: ReplayRun;
  /** One cache of all workers' capacity, least-loaded. */
  readonly pooled: ReplayRun;
  /** Least-loaded without a shared cache; null if that is the run itself. */
  readonly baseline: ReplayRun | null;
}

/** The policy that looks at no cache, with which others are compared. */
const baselinePolicy = { policy: "least-loaded", parameters: {} } as const;

/**
 * Runs a trace against simulated workers in virtual time, by the policy and for its bounds. The same rows and options give
 * the same report, digest included. Throws RangeError that names a wrong parameter of the policy.
 */
export function replay(
  trace: { readonly name: string; readonly rows: readonly TraceRow[] },
  options: ReplayOptions,
  deps: ReplayDeps = {},
): Replay {
  const arrivals = planArrivals(trace.rows, options);
  const { own, onProgress } = deps;
  const createCore = own?.createCore ?? ((stage: Stage) => createStageCore(stage, options));
  const createPlainCore = (stage: Stage) => createStageCore(stage, baselinePolicy);
  const isBaseline = options.policy === baselinePolicy.policy && own === undefined;
  const runs = isBaseline ? 2 : 3;
  let finished = 0;
  const simulate = (core: (stage: Stage) => RoutingCore, pooledCache: boolean) => {
    const random = new SeededRandom(options.seed);
    const simulation = new Simulation(
      arrivals,
      { ...options, pooledCache },
      {
        hasher: createBlockHasherFromModule(),
        random: (stage) => random.fork(stage),
        createCore: core,
        onProgress: (ended) => onProgress?.((finished + ended / arrivals.length) / runs),
      },
    );
    const result = simulation.run();
    finished++;
    return result;
  };
  const run = { name: own?.name ?? options.policy, result: simulate(createCore, false) };
  const pooled = { name: "pooled cache", result: simulate(createPlainCore, true) };
  const baseline = isBaseline
    ? null
    : { name: baselinePolicy.policy, result: simulate(createPlainCore, false) };
  const infinite = infiniteCache(arrivals, options);
  const report = reportOf(trace.name, options, { run, pooled, baseline, infinite });
  return { report, run, pooled, baseline };
}
