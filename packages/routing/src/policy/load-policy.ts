import { ServingError } from "@baton/protocol";
import { parsePolicyFile } from "./parse-policy-file.ts";
import type { PolicyFiles } from "./policy-files.ts";
import { importPolicyModules, type ModuleImport, type PolicyModules } from "./policy-modules.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { resolvePolicy } from "./resolve-policy.ts";
import type { RouterPolicy } from "./router-policy.ts";

/** A policy that is ready to choose. */
export interface LoadedPolicy {
  readonly policy: RouterPolicy;
  readonly modules: PolicyModules;
  /** What the policy file was when it was read; null without one. */
  readonly stamp: string | null;
}

/** What a policy is read with. */
export interface PolicySources {
  readonly files: PolicyFiles;
  readonly importModule: ModuleImport;
}

/**
 * Reads flags and policy file, and imports the modules that the file names. Throws `config_invalid` that says what is wrong
 * with them, or that the file cannot be read.
 */
export async function loadPolicy(
  flags: PolicyFlags,
  { files, importModule }: PolicySources,
): Promise<LoadedPolicy> {
  const path = flags.policyFile;
  if (path === undefined) {
    return { policy: resolvePolicy(flags, null), modules: new Map(), stamp: null };
  }
  // Before the text: if the file changes in between, the next look finds another stamp.
  const stamp = await reading(path, () => files.stamp(path));
  const text = await reading(path, () => files.read(path));
  const policy = resolvePolicy(flags, parsePolicyFile(text, path));
  return { policy, modules: await importPolicyModules(policy, stamp, importModule), stamp };
}

async function reading(path: string, read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ServingError(
      "config_invalid",
      { problem: `${path}: the policy file cannot be read: ${why}` },
      { cause: error },
    );
  }
}
