export {
  catalog,
  catalogWorker,
  modelCard,
  promptTokens,
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
export {
  natsAvailable,
  natsSuiteTitle,
  sharedNats,
  startNats,
} from "./start-nats.ts";
