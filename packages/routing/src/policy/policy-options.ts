import {
  type PolicyParameter,
  parseRouterMode,
  policyParameters,
  type RouterMode,
  routerModes,
} from "@baton/kv-router";
import { z } from "zod";
import { policyValues } from "./policy-file-schema.ts";

const routerMode = z
  .string()
  .transform((name, context): RouterMode => {
    const parsed = parseRouterMode(name);
    if (parsed.kind === "built") return parsed.mode;
    context.addIssue({ code: "custom", message: parsed.text });
    return z.NEVER;
  })
  .optional()
  .describe(`How a worker is chosen among those that may: ${routerModes.join(", ")}. Default kv.`);

/** The option of a parameter of the mode `kv`, with that parameter's range. */
function kvOption(name: string) {
  const parameter = policyParameters.kv.find((one) => one.name === name) as PolicyParameter;
  return policyValues
    .parameter(parameter)
    .optional()
    .describe(`Mode kv: ${parameter.doc} Default ${parameter.default}.`);
}

/**
 * The routing options of both routers. None has a default of its own: what is not given is left to the policy file, and
 * then to `resolvePolicy`.
 */
export const policyOptions = {
  routerMode,
  policyFile: z
    .string()
    .min(1)
    .optional()
    .describe("A YAML file with the routing policy, read again when it changes."),
  overlapScoreCredit: kvOption("overlap_score_credit"),
  overlapScoreCreditDecay: kvOption("overlap_score_credit_decay"),
  prefillLoadScale: kvOption("prefill_load_scale"),
  uncachedPrefillWeight: kvOption("uncached_prefill_weight"),
  decodeActiveRequestWeight: kvOption("decode_active_request_weight"),
  routerTemperature: kvOption("router_temperature"),
  useKvEvents: z
    .boolean()
    .optional()
    .describe(
      "Whether KV events say what workers hold; else the router's own choices. Default true.",
    ),
  predictedTtlSecs: policyValues
    .ttlSecs()
    .optional()
    .describe(
      "With events: how long a choice counts as cached before its event. Default: not at all.",
    ),
  approximateCachePolicy: policyValues
    .cachePolicy()
    .optional()
    .describe("Without events: forget by age or by what a worker can hold. Default ttl."),
  ttlSecs: policyValues
    .ttlSecs()
    .optional()
    .describe("Without events: how long a choice is believed to be cached. Default 120."),
  trackOutputBlocks: z
    .boolean()
    .optional()
    .describe("Whether blocks of the output count as load as it grows. Default false."),
  activeDecodeBlocksThreshold: policyValues
    .shareOfBlocks()
    .optional()
    .describe("Share of a rank's blocks over which it is overloaded. Default: none."),
  activePrefillTokensThreshold: policyValues
    .tokens()
    .optional()
    .describe("Prompt tokens to be computed over which a rank is overloaded. Default: none."),
  activePrefillTokensThresholdFrac: policyValues
    .multiple()
    .optional()
    .describe("The same as a multiple of the tokens of one pass. Default: none."),
  sessionAffinityTtlSecs: policyValues
    .affinityTtlSecs()
    .optional()
    .describe("How long an idle session keeps its worker. Default: sessions have no effect."),
  sessionAffinityMode: policyValues
    .affinityMode()
    .optional()
    .describe("hard: its worker and no other. soft: its worker while eligible. Default hard."),
  minInitialWorkers: policyValues
    .workers()
    .optional()
    .describe("Workers that a pool must have before it is served for the first time. Default 0."),
};

/** What the routing options of a command line and its environment say. */
export type PolicyFlags = z.infer<z.ZodObject<typeof policyOptions>>;
