import type { KvCostOptions } from "./policy-options.ts";
import type { RouterMode } from "./router-mode.ts";
import type { TierWeights } from "./selection-policy.ts";

/** A number that a policy can be given. */
export interface PolicyParameter {
  readonly name: string;
  /** The least that is allowed. */
  readonly min: number;
  /** The most that is allowed, null if there is no limit. */
  readonly max: number | null;
  readonly default: number;
  /** One sentence for people. */
  readonly doc: string;
}

/** What is wrong with a parameter. */
export interface ParameterFault {
  readonly name: string;
  /** One sentence that names it. */
  readonly text: string;
}

/** The parameters of the KV-aware policy. */
export type KvParameterName =
  | "overlap_score_credit"
  | "overlap_score_credit_decay"
  | "prefill_load_scale"
  | "uncached_prefill_weight"
  | "decode_active_request_weight"
  | "router_temperature"
  | "host_cache_hit_weight"
  | "disk_cache_hit_weight";

const kvParameters: readonly (PolicyParameter & { readonly name: KvParameterName })[] = [
  {
    name: "overlap_score_credit",
    min: 0,
    max: null,
    default: 1,
    doc: "How much a prompt block counts that the worker holds on its device.",
  },
  {
    name: "overlap_score_credit_decay",
    min: 0,
    max: null,
    default: 0,
    doc: "How fast that credit fades on workers with more prompt tokens to compute than the least.",
  },
  {
    name: "prefill_load_scale",
    min: 0,
    max: null,
    default: 4,
    doc: "Weight of prompt tokens still to be computed against blocks of active requests.",
  },
  {
    name: "uncached_prefill_weight",
    min: 0,
    max: null,
    default: 6,
    doc: "Weight, beyond its own, of a prompt block that the worker would have to compute anew.",
  },
  {
    name: "decode_active_request_weight",
    min: 0,
    max: null,
    default: 0,
    doc: "Cost of each active request, in blocks.",
  },
  {
    name: "router_temperature",
    min: 0,
    max: null,
    default: 0,
    doc: "How evenly choices spread over dearer workers; 0 takes the cheapest.",
  },
  {
    name: "host_cache_hit_weight",
    min: 0,
    max: 1,
    default: 0.75,
    doc: "How much a prompt block counts that the worker holds in host memory.",
  },
  {
    name: "disk_cache_hit_weight",
    min: 0,
    max: 1,
    default: 0.25,
    doc: "How much a prompt block counts that the worker holds on disk.",
  },
];

const twoTierParameters = [
  {
    name: "cache_threshold",
    min: 0,
    max: 1,
    default: 0.3,
    doc: "Share of the prompt that some worker must hold for the longest prefix to decide.",
  },
  {
    name: "balance_abs_threshold",
    min: 0,
    max: null,
    default: 64,
    doc: "Load is balanced while the busiest worker has at most this many more requests than the idlest.",
  },
  {
    name: "balance_rel_threshold",
    min: 0,
    max: null,
    default: 1.5,
    doc: "Load is balanced, too, while the busiest worker has at most this many times the requests of the idlest.",
  },
] as const satisfies readonly PolicyParameter[];

/** The parameters of each built-in policy, which is named as its router mode. */
export const policyParameters: Readonly<Record<RouterMode, readonly PolicyParameter[]>> = {
  "round-robin": [],
  random: [],
  "least-loaded": [],
  "power-of-two": [],
  direct: [],
  kv: kvParameters,
  "two-tier": twoTierParameters,
};

/** Options of the two-tier policy; see `policyParameters`. */
export interface TwoTierOptions {
  readonly cacheThreshold: number;
  readonly balanceAbsThreshold: number;
  readonly balanceRelThreshold: number;
}

/** Every unknown parameter, and every one out of its range. */
export function checkPolicyParameters(
  mode: RouterMode,
  parameters: Readonly<Record<string, number>>,
): readonly ParameterFault[] {
  const known = policyParameters[mode];
  return Object.entries(parameters).flatMap(([name, value]) => {
    const parameter = known.find((one) => one.name === name);
    if (parameter === undefined) return [{ name, text: unknownText(mode, name) }];
    const text = rangeFault(parameter, value);
    return text === undefined ? [] : [{ name, text }];
  });
}

/** One sentence if a value is out of a parameter's range. */
export function rangeFault({ name, min, max }: PolicyParameter, value: number): string | undefined {
  if (Number.isFinite(value) && value >= min && (max === null || value <= max)) return undefined;
  const range = max === null ? `${min} or more` : `from ${min} to ${max}`;
  return `${name} must be ${range}, not ${value}`;
}

/** The parameter of the KV-aware policy that has this name. */
export function kvParameter(name: KvParameterName): PolicyParameter {
  return kvParameters.find((one) => one.name === name)!;
}

/** The weights of the KV-aware policy that parameters come to. */
export function kvCostOptionsFrom(parameters: Readonly<Record<string, number>>): KvCostOptions {
  const value = (name: KvParameterName) => parameters[name] ?? kvParameter(name).default;
  return {
    overlapScoreCredit: value("overlap_score_credit"),
    overlapScoreCreditDecay: value("overlap_score_credit_decay"),
    prefillLoadScale: value("prefill_load_scale"),
    decodeActiveRequestWeight: value("decode_active_request_weight"),
    uncachedPrefillWeight: value("uncached_prefill_weight"),
    hostCacheHitWeight: value("host_cache_hit_weight"),
    diskCacheHitWeight: value("disk_cache_hit_weight"),
    routerTemperature: value("router_temperature"),
  };
}

/** The options of the two-tier policy that parameters come to. */
export function twoTierOptionsFrom(parameters: Readonly<Record<string, number>>): TwoTierOptions {
  const value = (name: TwoTierParameterName) =>
    parameters[name] ?? twoTierParameters.find((one) => one.name === name)!.default;
  return {
    cacheThreshold: value("cache_threshold"),
    balanceAbsThreshold: value("balance_abs_threshold"),
    balanceRelThreshold: value("balance_rel_threshold"),
  };
}

/** The weights of a policy that does not set its own. */
export const defaultTierWeights: TierWeights = {
  host: kvParameter("host_cache_hit_weight").default,
  disk: kvParameter("disk_cache_hit_weight").default,
};

type TwoTierParameterName = (typeof twoTierParameters)[number]["name"];

function unknownText(mode: RouterMode, name: string): string {
  const names = policyParameters[mode].map((one) => one.name);
  const choice = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  return `policy "${mode}" has no parameter "${name}": ${choice}`;
}
