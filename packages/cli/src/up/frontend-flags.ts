import { frontend } from "@baton/frontend";
import { type OptionSet, readOptions } from "@baton/runtime";
import { passedFlags, passedOptions } from "./passed-options.ts";
import type { PlannedActor } from "./plan.ts";

/** Where it listens is said for the whole cluster. */
const ofCluster: ReadonlySet<string> = new Set(["host", "port"]);
/** What holds the parts of a cluster together, and nobody who starts one on a machine has to know. */
const internal: ReadonlySet<string> = new Set([
  "maxTokenizers",
  "warmUpMs",
  "artifactTimeoutMs",
  "extendLeaseMs",
  "routerNoticeMs",
  "busGraceMs",
  "sweepMs",
  "framesTimeoutMs",
  "maxHeldFrames",
  "batchMs",
  "batchMax",
]);

/** The options of `baton frontend` that `baton up` passes on: what clients meet, and deadlines. */
export const upFrontendOptions: OptionSet<unknown> = passedOptions(
  frontend.options as OptionSet<unknown>,
  (key) => !ofCluster.has(key) && !internal.has(key),
);

/** The Frontend's flags, as far as they were given. Throws `config_invalid` naming each that does not fit. */
export function frontendFlags(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): PlannedActor["flags"] {
  readOptions(upFrontendOptions, { flags, env });
  return passedFlags(upFrontendOptions, flags, env);
}
