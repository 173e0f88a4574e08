import type { CreatePolicy, PolicySpec, SelectionPolicy } from "@baton/kv-router";
import { ServingError } from "@baton/protocol";
import { policyStages, type RouterPolicy, type StagePolicy } from "./router-policy.ts";

/** Imports an ES module by its absolute path. `version` changes with the policy file: another one is another instance. */
export type ModuleImport = (path: string, version: string) => Promise<unknown>;

/** The policies of one's own that a policy file names, by the path of their module. */
export type PolicyModules = ReadonlyMap<string, CreatePolicy>;

/**
 * Imports the modules that a policy names and tries what they export. Throws `config_invalid` that names each instance
 * whose module cannot be imported, exports no `createPolicy`, or does not make a policy of its parameters.
 */
export async function importPolicyModules(
  policy: RouterPolicy,
  version: string,
  importModule: ModuleImport,
): Promise<PolicyModules> {
  const modules = new Map<string, CreatePolicy>();
  const problems = new Set<string>();
  for (const stage of policyStages) {
    const { selection } = policy.stages[stage];
    if (selection.kind === "built-in") continue;
    const { name, module, parameters } = selection;
    try {
      const create = modules.get(module) ?? exported(await importModule(module, version));
      checkPolicy(create(parameters));
      modules.set(module, create);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      problems.add(`policy "${name}" of ${module}: ${problem}`);
    }
  }
  if (problems.size === 0) return modules;
  const options = [...problems];
  throw new ServingError("config_invalid", { problem: options.join("; "), options });
}

/** What `createSelector` makes a pool's selector of. Each call makes another policy, since policies may remember what they chose. */
export function createStagePolicy(
  { selection, tracking }: StagePolicy,
  modules: PolicyModules,
): PolicySpec | SelectionPolicy {
  if (selection.kind === "built-in") {
    const { mode, parameters } = selection;
    return { mode, parameters, tracking };
  }
  const create = modules.get(selection.module);
  if (create === undefined) {
    throw new ServingError("internal", { problem: `${selection.module} was not imported` });
  }
  return create(selection.parameters);
}

function exported(module: unknown): CreatePolicy {
  const create = (module as { readonly createPolicy?: unknown } | null)?.createPolicy;
  if (typeof create !== "function") throw new TypeError("it exports no function createPolicy");
  return create as CreatePolicy;
}

/** The shape alone: what it chooses is the user's. */
function checkPolicy(policy: unknown): void {
  const { type, usesCacheData, filters, scorers, picker, tierWeights } = (policy ?? {}) as {
    readonly [Key in keyof SelectionPolicy]?: unknown;
  };
  if (typeof type !== "string" || typeof usesCacheData !== "boolean") {
    throw new TypeError("createPolicy must return { type: string, usesCacheData: boolean, … }");
  }
  checkParts("filters", filters, "keeps");
  checkParts("scorers", scorers, "cost");
  checkParts("picker", picker === undefined ? undefined : [picker], "pick");
  checkWeights(tierWeights);
}

/** They enter what is booked: one that is no number would stay in the load of every rank that it meets. */
function checkWeights(weights: unknown): void {
  if (weights === undefined) return;
  const { host, disk } = (weights ?? {}) as { readonly host?: unknown; readonly disk?: unknown };
  if (!isShare(host) || !isShare(disk)) {
    throw new TypeError("tierWeights of createPolicy's policy must be { host, disk }, each 0 to 1");
  }
}

function isShare(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}

function checkParts(name: string, parts: unknown, method: string): void {
  if (parts === undefined) return;
  const areParts =
    Array.isArray(parts) &&
    parts.every((part) => typeof (part as Record<string, unknown> | null)?.[method] === "function");
  if (!areParts)
    throw new TypeError(`${name} of createPolicy's policy must have a method ${method}`);
}
