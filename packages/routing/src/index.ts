export { commandFields } from "./command-fields.ts";
export { DeskHost, type DeskHostDeps } from "./desk-host.ts";
export type {
  Chosen,
  DeskLimits,
  DeskPolicy,
  DeskRequest,
  WorkerCommand,
} from "./desk-policy.ts";
export { type DeskDeps, ModelDesk } from "./model-desk.ts";
export { type LoadedPolicy, loadPolicy, type PolicySources } from "./policy/load-policy.ts";
export { type PolicyFile, parsePolicyFile } from "./policy/parse-policy-file.ts";
export { policyFileSchema } from "./policy/policy-file-schema.ts";
export { diskSources, type PolicyFiles } from "./policy/policy-files.ts";
export { type PoolCard, type PoolPolicy, policyForPool } from "./policy/policy-for-pool.ts";
export {
  createStagePolicy,
  type ModuleImport,
  type PolicyModules,
} from "./policy/policy-modules.ts";
export { type PolicyFlags, policyOptions } from "./policy/policy-options.ts";
export { resolvePolicy } from "./policy/resolve-policy.ts";
export type {
  CachePolicy,
  PolicyStage,
  RouterPolicy,
  StageAffinity,
  StagePolicy,
  StageSelection,
} from "./policy/router-policy.ts";
export {
  type PolicyWatch,
  type PolicyWatchOptions,
  watchPolicyFile,
} from "./policy/watch-policy-file.ts";
export { routableWorker } from "./routable-worker.ts";
export { Router, type RouterRoleParts } from "./router.ts";
export { type RouterMetrics, routerMetrics, type WorkerRoleLabel } from "./router-metrics.ts";
export { type RouterSettings, routerOptions } from "./router-options.ts";
