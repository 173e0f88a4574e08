import { ServingError } from "@baton/protocol";
import type { WorkerConfig } from "../config.ts";
import type { Engine, EngineDeps } from "../engine.ts";
import {
  findLlamaEngine,
  findLlamaModel,
  installLlamaCommand,
  LlamaEngine,
} from "./llama/index.ts";

/** The environment that the engine's child process gets. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Makes a llama engine from what is installed and in the cache; fetches nothing. Rejects with `config_invalid`. */
export async function createLlamaEngine(
  config: WorkerConfig,
  deps: EngineDeps,
  env: Environment,
): Promise<Engine> {
  const installed = await findLlamaEngine();
  if (installed === undefined) {
    throw new ServingError("config_invalid", {
      problem: `the llama engine is not installed; ${installLlamaCommand} installs it`,
      option: "engine",
    });
  }
  const model = await findLlamaModel({
    env,
    ...(config.model === undefined ? {} : { modelFile: config.model }),
  });
  if (model === undefined) {
    throw new ServingError("config_invalid", {
      problem: `${config.model ?? "the default model"} is not here; name a GGUF file with --model`,
      option: "model",
    });
  }
  const { contextLength, maxNumSeqs, threads } = config;
  return new LlamaEngine(
    {
      installed,
      modelFile: model.path,
      env,
      ...(contextLength === undefined ? {} : { contextLength }),
      ...(maxNumSeqs === undefined ? {} : { maxSequences: maxNumSeqs }),
      ...(threads === undefined ? {} : { threads }),
    },
    deps,
  );
}
