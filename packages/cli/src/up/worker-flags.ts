import { availableParallelism } from "node:os";
import type { OptionSet } from "@baton/runtime";
import { worker } from "@baton/worker";
import type { EngineChoice } from "./engine-choice.ts";
import { passedFlags, passedOptions } from "./passed-options.ts";
import type { PlannedActor } from "./plan.ts";

const engineOptions: ReadonlySet<string> = new Set([
  "contextLength",
  "threads",
  "blocks",
  "blockSize",
  "maxNumSeqs",
  "maxBatchedTokens",
  "mockPrefillMs",
  "mockDecodeMs",
  "speedup",
  "decodeSpeedup",
  "transferGbps",
]);

/** The options of `baton worker` that `baton up` passes on, under `BATON_…` as its own are. */
export const upWorkerOptions: OptionSet<unknown> = passedOptions(
  worker.options as OptionSet<unknown>,
  (key) => engineOptions.has(key),
);

/** The flags of every worker: engine, model, what was given of the engine's options, and a share of the cores. */
export function engineFlags(
  choice: EngineChoice,
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
  counts: { readonly prefill: number; readonly decode: number; readonly aggregated: number },
): PlannedActor["flags"] {
  const workers = counts.prefill + counts.decode + counts.aggregated;
  // As if there were two at least: float sums depend on the threads, and one aggregated worker should give the very text
  // that a prefill and a decode worker give.
  const share = String(Math.max(1, Math.floor(availableParallelism() / Math.max(2, workers))));
  return {
    engine: choice.engine,
    "model-name": choice.modelName,
    ...(choice.model !== null && { model: choice.model }),
    ...(choice.engine === "llama" && { threads: share }),
    ...passedFlags(upWorkerOptions, flags, env),
  };
}
