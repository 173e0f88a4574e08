import {
  affinityModes,
  type PolicyParameter,
  policyParameters,
  type RouterMode,
  routerModes,
} from "@baton/kv-router";
import { z } from "zod";

const share = () => z.number().min(0).max(1);
/** Most seconds of any TTL: a year. */
const longestTtlSecs = 31_536_000;

/** Pieces that flags and file have in common. */
export const policyValues = {
  shareOfBlocks: share,
  tokens: () => z.number().int().min(0),
  multiple: () => z.number().min(0),
  ttlSecs: () => z.number().gt(0).max(longestTtlSecs),
  affinityTtlSecs: () => z.number().int().min(1).max(longestTtlSecs),
  affinityMode: () => z.enum(affinityModes),
  cachePolicy: () => z.enum(["ttl", "lru"]),
  workers: () => z.number().int().min(0).max(100_000),
  parameter: ({ min, max }: PolicyParameter) =>
    max === null ? z.number().min(min) : z.number().min(min).max(max),
};

/** Parameters of the KV-aware policy that stand under `router`, since every instance has the same. */
export const sharedParameters: readonly string[] = [
  "host_cache_hit_weight",
  "disk_cache_hit_weight",
];

/** A policy's type in the file, with the names that Dynamo has for two of them. */
const typeNames: Readonly<Record<RouterMode, readonly [string, ...string[]]>> = {
  "round-robin": ["round-robin"],
  random: ["random"],
  "least-loaded": ["least-loaded"],
  kv: ["kv", "dynamo-default-cost-fn"],
  "power-of-two": ["power-of-two"],
  "two-tier": ["two-tier", "dynamo-two-tier-cost-fn"],
  direct: ["direct"],
};

/** The router mode of a type's name; undefined for `module`. */
export function modeOfType(type: string): RouterMode | undefined {
  return routerModes.find((mode) => typeNames[mode].includes(type));
}

/** The parameters that an instance of a type may have in the file. */
export function instanceParameters(mode: RouterMode): readonly PolicyParameter[] {
  return policyParameters[mode].filter(({ name }) => !sharedParameters.includes(name));
}

const router = z.strictObject({
  host_cache_hit_weight: share()
    .optional()
    .describe("How much a prompt block counts that a worker holds in host memory. Default 0.75."),
  disk_cache_hit_weight: share()
    .optional()
    .describe("How much a prompt block counts that a worker holds on disk. Default 0.25."),
  use_kv_events: z
    .boolean()
    .optional()
    .describe(
      "Whether workers' KV events say what they hold; else only the router's own choices. Default true.",
    ),
  router_ttl_secs: policyValues
    .ttlSecs()
    .optional()
    .describe("Without events: how long a choice is believed to be cached. Default 120."),
  router_approximate_cache_policy: policyValues
    .cachePolicy()
    .optional()
    .describe("Without events: forget by age or by what a worker can hold. Default ttl."),
  router_predicted_ttl_secs: policyValues
    .ttlSecs()
    .nullable()
    .optional()
    .describe(
      "With events: how long the blocks of a choice count as held before their event comes. Default: not before it.",
    ),
  router_track_active_blocks: z
    .boolean()
    .optional()
    .describe("Whether blocks of active requests count. A prefill pool never does. Default true."),
  router_track_output_blocks: z
    .boolean()
    .optional()
    .describe("Whether blocks of the output count as it grows. Default false."),
  router_track_prefill_tokens: z
    .boolean()
    .optional()
    .describe("Whether prompt tokens still to be computed count. Default true."),
  router_assume_kv_reuse: z
    .boolean()
    .optional()
    .describe("Whether equal prefixes of active requests count once. Default true."),
  router_prefill_load_model: z
    .enum(["none", "polynomial"])
    .optional()
    .describe(
      "How long a prefill is expected to take; its tokens then fade as it goes on. Default none.",
    ),
  router_prefill_load_polynomial: z
    .strictObject({
      quadratic: z.number().min(0).describe("ms a token squared."),
      linear: z.number().min(0).describe("ms a token."),
      constant: z.number().min(0).describe("ms."),
    })
    .optional()
    .describe("Its coefficients. Default: those of the mock engine's timing."),
  router_min_initial_workers: policyValues
    .workers()
    .optional()
    .describe("Workers that a pool must have before it is served for the first time. Default 0."),
});

const busyThresholds = z.strictObject({
  active_decode_blocks_threshold: share()
    .nullable()
    .optional()
    .describe("Share of a rank's blocks over which it is overloaded. Default: none."),
  active_prefill_tokens_threshold: policyValues
    .tokens()
    .nullable()
    .optional()
    .describe("Prompt tokens to be computed over which a rank is overloaded. Default: none."),
  active_prefill_tokens_threshold_frac: policyValues
    .multiple()
    .nullable()
    .optional()
    .describe("The same as a multiple of the tokens of one pass. Default: none."),
});

const sessionAffinity = z.strictObject({
  ttl_secs: policyValues
    .affinityTtlSecs()
    .nullable()
    .optional()
    .describe(
      "How long a session that is idle keeps its worker. Default: sessions have no effect.",
    ),
  mode: policyValues
    .affinityMode()
    .optional()
    .describe(
      "hard: its worker and no other. soft: its worker while it is eligible. Default hard.",
    ),
});

const instanceName = z.string().min(1).max(100);

const builtInInstances = routerModes.map((mode) => {
  const parameters = instanceParameters(mode).map(
    (parameter) =>
      [
        parameter.name,
        policyValues
          .parameter(parameter)
          .optional()
          .describe(`${parameter.doc} Default ${parameter.default}.`),
      ] as const,
  );
  return z.strictObject({
    name: instanceName,
    type: z.enum(typeNames[mode]),
    parameters: z.strictObject(Object.fromEntries(parameters)).optional(),
  });
});

const moduleInstance = z.strictObject({
  name: instanceName,
  type: z.literal("module"),
  module: z
    .string()
    .min(1)
    .describe("An ES module that exports createPolicy; its path is relative to this file."),
  parameters: z.record(z.string(), z.number()).optional(),
});

/** Every type that an instance may have. */
export const instanceTypes: readonly string[] = [
  ...routerModes.flatMap((mode) => typeNames[mode]),
  "module",
];

const instance = z.discriminatedUnion("type", [moduleInstance, ...builtInInstances], {
  error: (issue) =>
    issue.code === "invalid_union" ? `must be one of ${instanceTypes.join(", ")}` : undefined,
});

const stagePolicy = (pool: string) =>
  z
    .string()
    .min(1)
    .optional()
    .describe(
      `The instance that chooses among ${pool} workers. default: what --router-mode and its options say.`,
    );

const workerSelection = z.strictObject({
  aggregated: stagePolicy("aggregated"),
  prefill: stagePolicy("prefill"),
  decode: stagePolicy("decode"),
  instances: z.array(instance).optional(),
});

/** The policy file, key by key. */
export const policyFileSchema = z
  .strictObject({
    router: router
      .optional()
      .describe("What routers keep count of, and what they believe of caches."),
    worker_selection: workerSelection
      .optional()
      .describe("Which policy chooses in which pool, and with which parameters."),
    busy_thresholds: busyThresholds
      .optional()
      .describe("From when on a rank counts as overloaded. null: never."),
    session_affinity: sessionAffinity.optional().describe("How sessions stay with their workers."),
  })
  .describe("Baton's routing policy: --policy-file.");

/** What a policy file says. */
export type PolicyFileContent = z.infer<typeof policyFileSchema>;

/** The keys of each section that has fixed ones, by its path. */
export const sectionKeys: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(policyFileSchema.shape),
  router: Object.keys(router.shape),
  worker_selection: Object.keys(workerSelection.shape),
  busy_thresholds: Object.keys(busyThresholds.shape),
  session_affinity: Object.keys(sessionAffinity.shape),
};
