import { ServingError } from "@baton/protocol";
import type { Engine, EngineDeps } from "../../engine.ts";
import { defaultLlamaEngineFolder, findLlamaEngine, installLlamaCommand } from "./install.ts";
import { LlamaEngine, type LlamaEngineConfig } from "./llama-engine.ts";
import { findLlamaModel } from "./model-file.ts";

/** The options of a worker that concern this engine. */
export interface LlamaWorkerOptions {
  /** A GGUF file; default the model in the cache. */
  readonly model?: string | undefined;
  readonly contextLength?: number | undefined;
  readonly maxNumSeqs?: number | undefined;
  readonly threads?: number | undefined;
}

/**
 * Makes the engine if it is installed and there is a model. It never installs or downloads: rejects with
 * `config_invalid` that names the command which does.
 */
export async function createLlamaEngine(
  options: LlamaWorkerOptions,
  deps: EngineDeps,
): Promise<Engine> {
  const installed = await findLlamaEngine();
  if (installed === undefined) {
    throw new ServingError("config_invalid", {
      problem: `the llama engine is not in ${defaultLlamaEngineFolder()}; run ${installLlamaCommand}`,
      option: "engine",
    });
  }
  const { model } = options;
  const found = await findLlamaModel({
    env: {},
    ...(model === undefined ? {} : { modelFile: model }),
  });
  if (found === undefined) {
    const problem = `there is no model ${model ?? "in the cache"}; name a GGUF file with --model`;
    throw new ServingError("config_invalid", { problem, option: "model" });
  }
  return new LlamaEngine({ installed, modelFile: found.path, ...sizes(options) }, deps);
}

function sizes(
  options: LlamaWorkerOptions,
): Pick<LlamaEngineConfig, "contextLength" | "maxSequences" | "threads"> {
  const { contextLength, maxNumSeqs, threads } = options;
  return {
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(maxNumSeqs === undefined ? {} : { maxSequences: maxNumSeqs }),
    ...(threads === undefined ? {} : { threads }),
  };
}
