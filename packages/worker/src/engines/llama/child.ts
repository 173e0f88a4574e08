/**
 * Entry of the engine's child process: holds node-llama-cpp and nothing else of Baton. It ends when its
 * parent's pipe closes. `UV_THREADPOOL_SIZE=1` must be set by whoever starts it.
 */

import process from "node:process";
import type { ChildMessage, LoadCommand, ParentMessage } from "./child-protocol.ts";
import { createGrammarState, grammarBindings } from "./grammar-state.ts";
import type {
  NativeContext,
  NativeLlama,
  NativeModel,
  NativeModule,
  TokenBias,
} from "./native-types.ts";
import { Sampler, type Sampling } from "./sampling.ts";
import { StepLoop } from "./step-loop.ts";

// The library tries its binary in a process of its own, which must not inherit a loader for sources.
process.execArgv = [];
let loop: StepLoop | undefined;
let complaint: string | undefined;

function send(message: ChildMessage): void {
  process.send?.(message);
}

// At once: a running batch must not keep an orphan alive.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// A signal to the whole group must not end work that the parent lets finish.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.on("message", (message: ParentMessage) => {
  receive(message).catch((error: unknown) => {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    send({ kind: "unusable", problem });
    process.exitCode = 1;
    process.disconnect();
  });
});

async function receive(message: ParentMessage): Promise<void> {
  if (message.kind === "load") {
    loop = await load(message);
  } else if (loop !== undefined) {
    await loop.handle(message);
  }
}

async function load(command: LoadCommand): Promise<StepLoop> {
  const native = (await import(command.moduleUrl)) as NativeModule;
  const llama = await native.getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    maxThreads: command.threads,
    logLevel: "warn",
    logger: (level, line) => {
      complaint = line.trim();
      send({ kind: "log", level, line: complaint });
    },
  });
  const model = await llama.loadModel({ modelPath: command.modelPath });
  const context = await model.createContext({
    contextSize: command.contextSize,
    sequences: command.sequences,
    batchSize: Math.max(512, command.stepTokens),
    threads: command.threads,
  });
  complaint = undefined;
  const tokens = [...model.iterateAllTokens()];
  const { repo, release } = llama.llamaCppRelease;
  send({
    kind: "loaded",
    build: `${repo}@${release}`,
    contextSize: context.contextSize,
    vocabularySize: tokens.length,
    endTokens: tokens.filter((token) => model.isEogToken(token)),
    hasGrammars: grammarBindings(llama) !== undefined,
  });
  return createLoop(command, { native, llama, model, context });
}

interface Loaded {
  readonly native: NativeModule;
  readonly llama: NativeLlama;
  readonly model: NativeModel;
  readonly context: NativeContext;
}

function createLoop(command: LoadCommand, loaded: Loaded): StepLoop {
  const { context } = loaded;
  const { sequences, chunkTokens, stepTokens } = command;
  const { contextSize } = context;
  const strategy = (): never => {
    throw new Error("the sequence is at the end of its context");
  };
  return new StepLoop(
    { slots: sequences, chunkTokens, stepTokens, contextSize },
    {
      newSequence: () => context.getSequence({ contextShift: { strategy } }),
      newSampler: (sampling) => createSampler(loaded, sampling),
      send,
      lastComplaint: () => {
        const last = complaint;
        complaint = undefined;
        return last;
      },
    },
  );
}

async function createSampler(loaded: Loaded, sampling: Sampling): Promise<Sampler> {
  const { native, llama, model } = loaded;
  const isEog = (token: number): boolean => model.isEogToken(token);
  const { grammar } = sampling;
  const state =
    grammar === null ? undefined : await createGrammarState(native, llama, model, grammar);
  return new Sampler(sampling, isEog, biasOf(native, model, sampling), state);
}

function biasOf(
  native: NativeModule,
  model: NativeModel,
  sampling: Sampling,
): TokenBias | undefined {
  if (sampling.logitBias.length === 0) return undefined;
  const bias = native.TokenBias.for(model);
  for (const [token, logit] of sampling.logitBias) bias.set(token, { logit });
  return bias;
}
