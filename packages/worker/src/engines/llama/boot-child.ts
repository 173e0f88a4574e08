/** Starts a child, loads the model, and learns from one saved state what its KV looks like. */

import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import { ChildClient, type ChildClientEvents } from "./child-client.ts";
import type { StartChild } from "./child-process.ts";
import { describeKv } from "./descriptor.ts";
import type { InstalledLlamaEngine } from "./install.ts";
import type { Sampling } from "./sampling.ts";
import type { StateDir } from "./state-dir.ts";
import { readStateLayout } from "./state-file.ts";
import { StateFormatError, type StateLayout, type StateShape } from "./state-layout.ts";

export interface ChildSettings {
  readonly installed: InstalledLlamaEngine;
  readonly modelPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly startChild: StartChild;
  readonly contextLength: number;
  readonly maxSequences: number;
  readonly threads: number;
  readonly chunkTokens: number;
  readonly stepTokens: number;
  readonly silentMs: number;
  readonly loadMs: number;
}

export interface BootContext {
  readonly clock: Clock;
  readonly dir: StateDir;
  readonly modelSha256: string;
  readonly blockSize: number;
  /** Called before the first wait; closing the client there ends the boot. */
  onStarted(client: ChildClient): void;
}

/** A child that is ready for work, with what is known of it. */
export interface BootedChild {
  readonly client: ChildClient;
  readonly contextLength: number;
  readonly vocabularySize: number;
  /** Tokens that end a generation. */
  readonly endTokens: ReadonlySet<number>;
  /** Whether outputs can be kept to a grammar. */
  readonly hasGrammars: boolean;
  readonly shape: StateShape;
  readonly streamCount: number;
  readonly descriptor: Readonly<Record<string, string | number>>;
}

/** Rejects with `engine_failed`, `engine_lost`, or `config_invalid` for a model whose KV cannot be cut. */
export async function bootChild(
  settings: ChildSettings,
  context: BootContext,
  events: ChildClientEvents,
): Promise<BootedChild> {
  const { env, startChild, silentMs, loadMs } = settings;
  const { clock, dir } = context;
  const client = new ChildClient({ clock, startChild, env, silentMs, loadMs }, events);
  context.onStarted(client);
  try {
    const loaded = await client.load({
      kind: "load",
      moduleUrl: settings.installed.moduleUrl,
      modelPath: settings.modelPath,
      contextSize: settings.contextLength,
      sequences: settings.maxSequences,
      threads: settings.threads,
      chunkTokens: settings.chunkTokens,
      stepTokens: settings.stepTokens,
    });
    const { shape, streamCount } = await probeState(client, dir);
    const { build, contextSize, vocabularySize } = loaded;
    const { blockSize, modelSha256 } = context;
    const descriptor = describeKv({ build, modelSha256, blockSize, shape });
    return {
      client,
      contextLength: contextSize,
      vocabularySize,
      endTokens: new Set(loaded.endTokens),
      hasGrammars: loaded.hasGrammars,
      shape,
      streamCount,
      descriptor,
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

const probeTokens = 2;
const probeSampling: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: [],
  seed: 0,
  minTokens: 0,
  ignoreEos: true,
  stopTokenIds: [],
  logprobs: null,
  grammar: null,
};

/** Computes two tokens and reads the layout of their saved state. */
async function probeState(client: ChildClient, dir: StateDir): Promise<StateLayout> {
  const path = dir.newFile();
  try {
    await client.run({
      kind: "run",
      run: 0,
      slot: 0,
      tokens: new Uint32Array(probeTokens),
      promptTokens: probeTokens,
      kept: 0,
      sampling: probeSampling,
      choiceSeeds: null,
      promptLogprobs: null,
      maxTokens: Number.POSITIVE_INFINITY,
      saveTo: path,
    });
    return await readStateLayout(path);
  } catch (error) {
    if (!(error instanceof StateFormatError)) throw error;
    const problem = `the KV of this model cannot be handed over: ${error.message}`;
    throw new ServingError("config_invalid", { problem, field: error.field }, { cause: error });
  } finally {
    await dir.discard(path);
  }
}
