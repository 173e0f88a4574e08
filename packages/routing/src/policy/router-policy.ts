import type {
  AffinityMode,
  BusyThresholds,
  LoadTrackingOptions,
  PrefillDurationModel,
  RouterMode,
} from "@baton/kv-router";

/** The pools that a policy may treat differently. */
export const policyStages = ["aggregated", "prefill", "decode"] as const;
/** One of the pools. */
export type PolicyStage = (typeof policyStages)[number];

/** How a worker is chosen: one of the built-in ways, or a policy of the user's own. */
export type StageSelection =
  | {
      readonly kind: "built-in";
      /** The instance's name in the policy file; `default` for what the flags say. */
      readonly name: string;
      readonly mode: RouterMode;
      /** By the names of `policyParameters`; what is absent has its default. */
      readonly parameters: Readonly<Record<string, number>>;
    }
  | {
      readonly kind: "module";
      readonly name: string;
      /** Absolute path of an ES module that exports `createPolicy`. */
      readonly module: string;
      readonly parameters: Readonly<Record<string, number>>;
    };

/** How the router learns what workers' caches hold. */
export interface CachePolicy {
  /** From the workers' events. Otherwise from the router's own choices alone. */
  readonly useKvEvents: boolean;
  /** Without events: what is forgotten, by age (`ttl`) or by how much the worker can hold (`lru`). */
  readonly approximateCachePolicy: "ttl" | "lru";
  /** Without events: how long a choice is believed to be cached, ms. */
  readonly ttlMs: number;
  /** With events: how long the blocks of a choice count as held before their event comes, ms; null: not before it. */
  readonly predictedTtlMs: number | null;
}

/** How sessions stay with their workers. */
export interface StageAffinity {
  readonly ttlMs: number;
  readonly mode: AffinityMode;
}

/** All that a pool's configuration comes to. */
export interface StagePolicy {
  readonly selection: StageSelection;
  readonly tracking: LoadTrackingOptions;
  readonly prefillDuration: PrefillDurationModel;
  readonly thresholds: BusyThresholds;
  readonly cache: CachePolicy;
  /** Null: sessions have no effect. */
  readonly affinity: StageAffinity | null;
}

/** A router's whole configuration of how it chooses. */
export interface RouterPolicy {
  readonly stages: Readonly<Record<PolicyStage, StagePolicy>>;
  /** The mode of affinity, also for pools whose own configuration sets a TTL. */
  readonly affinityMode: AffinityMode;
  /** Workers that a pool must have before it is served for the first time. */
  readonly minInitialWorkers: number;
}

/** The values where nothing is said. */
export const defaultCachePolicy: CachePolicy = {
  useKvEvents: true,
  approximateCachePolicy: "ttl",
  ttlMs: 120_000,
  predictedTtlMs: null,
};

/** A prefill stage never counts active blocks: what it computed has left when the prefill is done. */
export function trackingOf(stage: PolicyStage, tracking: LoadTrackingOptions): LoadTrackingOptions {
  return stage === "prefill"
    ? { ...tracking, trackActiveBlocks: false, trackOutputBlocks: false }
    : tracking;
}
