import {
  checkPolicyParameters,
  defaultLoadTracking,
  noPrefillDuration,
  parseRouterMode,
  type RouterMode,
} from "@baton/kv-router";
import type { RouterConfig, WorkerType } from "@baton/protocol";
import {
  defaultCachePolicy,
  type PolicyStage,
  type RouterPolicy,
  type StagePolicy,
  type StageSelection,
  trackingOf,
} from "./router-policy.ts";

/** What a worker's registration says of its pool's routing. A registration is one of these. */
export interface PoolCard {
  readonly id: string;
  readonly workerType: WorkerType;
  readonly card: { readonly routerConfig?: RouterConfig | null | undefined };
}

/** A pool's policy, and what an operator should know of how it came about. */
export interface PoolPolicy {
  readonly policy: StagePolicy;
  /** One sentence each, the same for the same cards. */
  readonly warnings: readonly string[];
}

/**
 * The policy of one pool of a model (`dynamo-semantics` 1.4). `workers` are all of the model's, in the catalog's order: a
 * router configuration that its cards carry applies whole, and what it does not say is the library's default, not the
 * router's own. Prefill workers without one follow the decode workers'. The mode of affinity, thresholds, and a policy that
 * the router's file names for the pool stay the router's. The first readable card counts where cards disagree.
 */
export function policyForPool(
  policy: RouterPolicy,
  stage: PolicyStage,
  workers: readonly PoolCard[],
): PoolPolicy {
  const warnings: string[] = [];
  const config =
    configOf(workers, stage, warnings) ??
    (stage === "prefill" ? configOf(workers, "decode", warnings) : null);
  const own = policy.stages[stage];
  if (config === null) return { policy: own, warnings };
  const ttlSecs = config.sessionAffinityTtlSecs;
  return {
    policy: {
      selection: selectionOf(config, own.selection, warnings),
      tracking: trackingOf(stage, defaultLoadTracking),
      prefillDuration: noPrefillDuration,
      thresholds: own.thresholds,
      cache: defaultCachePolicy,
      affinity:
        ttlSecs === undefined ? null : { ttlMs: ttlSecs * 1_000, mode: policy.affinityMode },
    },
    warnings,
  };
}

interface ReadableConfig extends RouterConfig {
  readonly mode: RouterMode;
}

/** What the first readable card of a type says; null if it says nothing, or there is none. */
function configOf(
  workers: readonly PoolCard[],
  workerType: WorkerType,
  warnings: string[],
): ReadableConfig | null {
  const ofType = workers.filter((worker) => worker.workerType === workerType);
  let first: { readonly id: string; readonly config: ReadableConfig | null } | undefined;
  for (const { id, card } of ofType) {
    const config = card.routerConfig ?? null;
    const fault = config === null ? undefined : faultOf(config);
    if (fault !== undefined) {
      warnings.push(`the router configuration of ${workerType} worker ${id} is ignored: ${fault}`);
    } else if (first === undefined) {
      first = { id, config: config as ReadableConfig | null };
    } else if (print(config) !== print(first.config)) {
      warnings.push(
        `${workerType} workers carry different router configurations: that of ${first.id} counts, not that of ${id}`,
      );
    }
  }
  return first?.config ?? null;
}

function faultOf({ mode, parameters = {} }: RouterConfig): string | undefined {
  const parsed = parseRouterMode(mode);
  if (parsed.kind === "refused") return parsed.text;
  return checkPolicyParameters(parsed.mode, parameters)[0]?.text;
}

/** Equal for configurations that say the same, whatever the order of their parameters. */
function print(config: RouterConfig | null): string {
  if (config === null) return "";
  const { mode, parameters = {}, sessionAffinityTtlSecs } = config;
  const sorted = Object.entries(parameters).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([mode, sorted, sessionAffinityTtlSecs ?? null]);
}

/** A policy that the router's file names for the pool is how mode `kv` chooses there. */
function selectionOf(
  { mode, parameters = {} }: ReadableConfig,
  own: StageSelection,
  warnings: string[],
): StageSelection {
  if (mode !== "kv" || own.name === "default") {
    return { kind: "built-in", name: "default", mode, parameters };
  }
  if (Object.keys(parameters).length > 0) {
    warnings.push(
      `the parameters of the workers' router configuration have no effect: the policy file names ${own.name}`,
    );
  }
  return own;
}
