export { createWorker, type WorkerParts, worker } from "./actor.ts";
export { modelNameOf, type WorkerConfig, workerOptions } from "./config.ts";
export type {
  Engine,
  EngineCard,
  EngineDeps,
  EngineEvents,
  EngineJob,
  EngineLoad,
  ImportJob,
  ImportPlan,
  KvPart,
  PrefillResult,
  StagedKv,
  StepOutput,
} from "./engine.ts";
export { builtInEngines, type EngineFactory, type EngineRegistry } from "./engine-registry.ts";
export {
  defaultLlamaEngineFolder,
  defaultLlamaModel,
  findLlamaEngine,
  findLlamaModel,
  type InstalledLlamaEngine,
  type InstallOptions,
  installLlamaCommand,
  installLlamaEngine,
  LlamaInstallError,
  LlamaModelError,
  llamaCacheDir,
  type ModelFile,
  type ModelFileOptions,
  resolveLlamaModel,
} from "./engines/llama/index.ts";
export { type MoverDeps, type MoverFactory, tcpMover } from "./mover.ts";
