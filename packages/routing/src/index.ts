export { candidatesOf } from "./candidates.ts";
export { DeskHost } from "./desk-host.ts";
export {
  type Chosen,
  type DeskLimits,
  type DeskPolicy,
  type DeskRequest,
  ModelDesk,
  type WorkerCommand,
} from "./model-desk.ts";
export { RecentIds } from "./recent-ids.ts";
export { Router, type RouterRoleParts, type RouterSettings } from "./router.ts";
