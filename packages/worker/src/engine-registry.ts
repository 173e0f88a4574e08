import { ServingError } from "@baton/protocol";
import type { WorkerConfig } from "./config.ts";
import type { Engine, EngineDeps } from "./engine.ts";

/** Makes one engine. Rejects with `config_invalid` or `engine_failed`. */
export type EngineFactory = (config: WorkerConfig, deps: EngineDeps) => Engine | Promise<Engine>;

/** The engines of a process by name. Each is loaded when it is asked for. */
export type EngineRegistry = Readonly<Record<string, () => Promise<EngineFactory>>>;

/** The engines that come with Baton. */
export const builtInEngines: EngineRegistry = {
  mock: async () => (await import("./engines/mock/index.ts")).createMockEngine,
  llama: async () => (await import("./engines/llama/index.ts")).createLlamaEngine,
};

/** Loads and makes an engine. Rejects with `config_invalid`, naming the known ones, if there is none of that name. */
export async function createEngine(
  registry: EngineRegistry,
  config: WorkerConfig,
  deps: EngineDeps,
): Promise<Engine> {
  const load = Object.hasOwn(registry, config.engine) ? registry[config.engine] : undefined;
  if (load === undefined) {
    const known = Object.keys(registry).join(", ");
    throw new ServingError("config_invalid", {
      problem: `there is no engine ${config.engine}; there are ${known}`,
      option: "engine",
    });
  }
  const factory = await load();
  return factory(config, deps);
}
