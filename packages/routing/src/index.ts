export { CandidateTable } from "./candidate-table.ts";
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
export { Router, type RouterRoleParts } from "./router.ts";
export { type RouterMetrics, routerMetrics, type WorkerRoleLabel } from "./router-metrics.ts";
export { type RouterSettings, routerOptions } from "./router-options.ts";
