import { dirname, resolve } from "node:path";
import { policyParameters, type RouterMode } from "@baton/kv-router";
import { modeOfType, type PolicyFileContent, sharedParameters } from "./policy-file-schema.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { flagName, type PolicySettings } from "./policy-settings.ts";
import { type PolicyStage, policyStages, type StageSelection } from "./router-policy.ts";

/** The router mode where nothing is said. */
const defaultMode: RouterMode = "kv";

/** The flags of the parameters of mode `kv`. */
const parameterFlags = {
  overlapScoreCredit: "overlap_score_credit",
  overlapScoreCreditDecay: "overlap_score_credit_decay",
  prefillLoadScale: "prefill_load_scale",
  uncachedPrefillWeight: "uncached_prefill_weight",
  decodeActiveRequestWeight: "decode_active_request_weight",
  routerTemperature: "router_temperature",
} as const satisfies Partial<Record<keyof PolicyFlags, string>>;

const parameterFlagNames = Object.keys(parameterFlags) as readonly (keyof typeof parameterFlags)[];

type Instance = NonNullable<
  NonNullable<PolicyFileContent["worker_selection"]>["instances"]
>[number];

/** Which policy chooses in each pool. Flags that choose nothing are problems. */
export function stageSelections(
  settings: PolicySettings,
): Readonly<Record<PolicyStage, StageSelection>> {
  const { worker_selection: selection = {} } = settings.content;
  const byFlags = selectionOfFlags(settings);
  const of = (stage: PolicyStage): StageSelection => {
    const instance = selection.instances?.find(({ name }) => name === selection[stage]);
    return instance === undefined ? byFlags : selectionOfInstance(instance, settings);
  };
  const selections = {
    aggregated: of("aggregated"),
    prefill: of("prefill"),
    decode: of("decode"),
  };
  checkFlagsChoose(settings, selections);
  return selections;
}

function selectionOfFlags(settings: PolicySettings): StageSelection {
  const { flags } = settings;
  const mode = flags.routerMode ?? defaultMode;
  const parameters: Record<string, number> = {};
  for (const flag of parameterFlagNames) {
    const value = flags[flag];
    if (value === undefined) continue;
    const name = parameterFlags[flag];
    if (policyParameters[mode].some((parameter) => parameter.name === name)) {
      parameters[name] = value;
    } else {
      settings.problem(`${flagName(flag)} has no effect with --router-mode ${mode}`);
    }
  }
  return {
    kind: "built-in",
    name: "default",
    mode,
    parameters: { ...parameters, ...sharedParametersOf(mode, settings) },
  };
}

function selectionOfInstance(instance: Instance, settings: PolicySettings): StageSelection {
  const { name, type } = instance;
  const parameters = definedNumbers(instance.parameters ?? {});
  if ("module" in instance) {
    const module = resolve(dirname(settings.file?.path ?? "."), instance.module);
    return { kind: "module", name, module, parameters };
  }
  const mode = modeOfType(type) ?? defaultMode;
  return {
    kind: "built-in",
    name,
    mode,
    parameters: { ...defaultsOfType(type), ...parameters, ...sharedParametersOf(mode, settings) },
  };
}

/** Who names the policy as Dynamo does expects Dynamo's defaults of it. */
function defaultsOfType(type: string): Readonly<Record<string, number>> {
  return type === "dynamo-default-cost-fn"
    ? { prefill_load_scale: 1, uncached_prefill_weight: 0 }
    : {};
}

/** What stands under `router` because all instances of a mode have the same. */
function sharedParametersOf(
  mode: RouterMode,
  { content }: PolicySettings,
): Readonly<Record<string, number>> {
  const names = policyParameters[mode].map(({ name }) => name);
  const ofRouter: Readonly<Record<string, unknown>> = content.router ?? {};
  return definedNumbers(
    Object.fromEntries(
      sharedParameters.filter((name) => names.includes(name)).map((name) => [name, ofRouter[name]]),
    ),
  );
}

function checkFlagsChoose(
  settings: PolicySettings,
  selections: Readonly<Record<PolicyStage, StageSelection>>,
): void {
  const { flags, file } = settings;
  if (file === null || policyStages.some((stage) => selections[stage].name === "default")) return;
  for (const flag of ["routerMode", ...parameterFlagNames] as const) {
    if (flags[flag] === undefined) continue;
    const place = file.where(["worker_selection"]);
    settings.problem(`${flagName(flag)} is given, but ${place} names a policy for every pool`);
  }
}

function definedNumbers(
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number",
    ),
  );
}
