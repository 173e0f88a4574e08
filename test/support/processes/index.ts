export {
  type ApiAnswer,
  ApiStream,
  post,
  textOf,
} from "./api-client.ts";
export { BatonProcess, runBaton } from "./baton-process.ts";
export { BusWatch } from "./bus-watch.ts";
export {
  type ActorSpec,
  asArguments,
  Cluster,
  commonActors,
  heldGauges,
  startCluster,
  workerSpec,
} from "./cluster.ts";
export { HeldProxy } from "./held-proxy.ts";
export { samples } from "./metrics-page.ts";
export { descendantsOf, isAlive } from "./process-table.ts";
export { clientPython } from "./python-clients.ts";
export { type ModelStatus, readStatus, type Status } from "./read-status.ts";
export { describeWith } from "./requirements.ts";
export { settles, waitUntil, within } from "./wait-until.ts";
