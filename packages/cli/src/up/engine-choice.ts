import { statSync } from "node:fs";
import { basename } from "node:path";
import { ServingError } from "@baton/protocol";
import {
  defaultLlamaModel,
  findLlamaEngine,
  installLlamaCommand,
  installLlamaEngine,
  resolveLlamaModel,
} from "@baton/worker";
import type { CommandIo } from "../command-io.ts";

/** What the workers of a cluster run. */
export interface EngineChoice {
  readonly engine: "llama" | "mock";
  /** The model file or tokenizer folder; null for the mock's own. */
  readonly model: string | null;
  readonly modelName: string;
}

/** What was asked for. */
export interface EngineWish {
  readonly engine: "auto" | "llama" | "mock";
  readonly model?: string | undefined;
  readonly modelName?: string | undefined;
  readonly modelUrl?: string | undefined;
  /** Whether a missing engine may be installed. */
  readonly install: boolean;
}

const mockModelName = "mock";

/** Chooses engine and model, fetching what is missing as far as it may. Throws when `llama` was asked for and cannot be had. */
export async function chooseEngine(wish: EngineWish, io: CommandIo): Promise<EngineChoice> {
  if (wish.engine === "mock" || (wish.engine === "auto" && isFolder(wish.model))) return mock(wish);
  try {
    return await llama(wish, io);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (wish.engine === "llama" || wish.model !== undefined) {
      throw new ServingError(
        "config_invalid",
        { problem: `--engine llama: ${why}` },
        { cause: error },
      );
    }
    io.err(banner(why));
    return mock(wish);
  }
}

async function llama(wish: EngineWish, io: CommandIo): Promise<EngineChoice> {
  const report = (line: string): void => io.err(`${line}\n`);
  const found = await findLlamaEngine();
  if (found === undefined) {
    if (!wish.install)
      throw new Error(`the llama engine is not installed; run: ${installLlamaCommand}`);
    await installLlamaEngine({ env: io.env }, report);
  }
  const model = await resolveLlamaModel({
    env: io.env,
    onProgress: report,
    ...(wish.model !== undefined && { modelFile: wish.model }),
    ...(wish.modelUrl !== undefined && { url: wish.modelUrl }),
  });
  const fileName = basename(model.path).replace(/\.gguf$/, "");
  const ownName = model.source === "file" ? fileName : defaultLlamaModel.name;
  return { engine: "llama", model: model.path, modelName: wish.modelName ?? ownName };
}

function mock(wish: EngineWish): EngineChoice {
  const ownName = wish.model === undefined ? mockModelName : basename(wish.model);
  return { engine: "mock", model: wish.model ?? null, modelName: wish.modelName ?? ownName };
}

function isFolder(path: string | undefined): boolean {
  return path !== undefined && (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
}

function banner(why: string): string {
  return [
    "",
    "  NO REAL MODEL: the mock engine answers, and its text is made up.",
    `  Why: ${why}`,
    `  For a real one: ${installLlamaCommand}, then start again.`,
    "",
    "",
  ].join("\n");
}
