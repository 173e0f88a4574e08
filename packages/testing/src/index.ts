export {
  catalog,
  catalogWorker,
  modelCard,
  promptTokens,
  type RegistrationChanges,
  registrationOf,
  testGeneration,
  testModel,
  workerCapacity,
  workerRegistration,
} from "./builders.ts";
export {
  type MemoryCluster,
  type MemoryClusterOptions,
  memoryCluster,
  type TestContext,
  type TestContextOptions,
} from "./memory-cluster.ts";
export { actorHeartbeat, loadReport, routeDecode, routePrefill } from "./message-builders.ts";
export { PlayedActor, type PlayedActorOptions } from "./played-actor.ts";
export { PlayedCluster, type PlayedCommand, type PlayedRouting } from "./played-cluster.ts";
export { PlayedDiscovery } from "./played-discovery.ts";
export {
  natsAvailable,
  natsSuiteTitle,
  sharedNats,
  startNats,
} from "./start-nats.ts";
