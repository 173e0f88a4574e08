export { createLlamaEngine, type LlamaWorkerOptions } from "./create-llama-engine.ts";
export {
  defaultLlamaEngineFolder,
  findLlamaEngine,
  type InstalledLlamaEngine,
  type InstallOptions,
  installLlamaCommand,
  installLlamaEngine,
  LlamaInstallError,
} from "./install.ts";
export { LlamaEngine, type LlamaEngineConfig, llamaBlockSize } from "./llama-engine.ts";
export {
  defaultLlamaModel,
  findLlamaModel,
  LlamaModelError,
  llamaCacheDir,
  type ModelFile,
  type ModelFileOptions,
  resolveLlamaModel,
} from "./model-file.ts";
