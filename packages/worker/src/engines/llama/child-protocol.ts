/**
 * What the worker and its engine's child say to each other, over the IPC channel of the child (never its
 * stdout, which the native library may write to). The child decides nothing about prefixes or memory.
 */

import type { FinishReason, TokenLogprobs } from "@baton/protocol";
import type { Sampling } from "./sampling.ts";

/** Loads model and context. The first message, once. */
export interface LoadCommand {
  readonly kind: "load";
  /** `file:` URL of node-llama-cpp. */
  readonly moduleUrl: string;
  readonly modelPath: string;
  /** Tokens of one sequence; the library may round it up. */
  readonly contextSize: number;
  readonly sequences: number;
  readonly threads: number;
  /** Prompt chunks end at multiples of this. */
  readonly chunkTokens: number;
  /** The most tokens of one step. */
  readonly stepTokens: number;
}

/** Feeds tokens to a slot's sequence and generates. */
export interface RunCommand {
  readonly kind: "run";
  readonly run: number;
  readonly slot: number;
  /** Prompt and, after an import, the output tokens that are there already. */
  readonly tokens: Uint32Array;
  /** How many of `tokens` belong to the prompt. */
  readonly promptTokens: number;
  /** Leading tokens whose KV the slot holds and keeps. */
  readonly kept: number;
  readonly sampling: Sampling;
  /**
   * Draws one first token with each of these seeds, from the same logits, and pauses: the choices of one prompt, of which each
   * goes on in a run of its own. Null: goes on with its one output.
   */
  readonly choiceSeeds: readonly number[] | null;
  /** Alternatives to report per prompt token; null reports no log-probabilities of the prompt. Nothing may be kept then. */
  readonly promptLogprobs: number | null;
  /** Output tokens at which the run ends with `length`, those in `tokens` included. */
  readonly maxTokens: number;
  /** Pauses after the first new token, if the run would go on, and saves the slot's state to this file. */
  readonly saveTo: string | null;
}

/** What must be done with a slot between steps; each is answered by `done`. */
export type SlotCommand =
  | { readonly kind: "save"; readonly call: number; readonly slot: number; readonly path: string }
  | {
      readonly kind: "restore";
      readonly call: number;
      readonly slot: number;
      readonly path: string;
      readonly tokens: number;
    };

export type ParentMessage =
  | LoadCommand
  | RunCommand
  | SlotCommand
  | { readonly kind: "cancel"; readonly run: number };

/** What the loaded engine is. */
export interface LoadedEvent {
  readonly kind: "loaded";
  /** Repository and release of llama.cpp: states of another build are refused. */
  readonly build: string;
  readonly contextSize: number;
  readonly vocabularySize: number;
  /** Tokens that end a generation. */
  readonly endTokens: readonly number[];
  /** Whether outputs can be kept to a grammar. */
  readonly hasGrammars: boolean;
}

/** One token of one run. */
export interface RunOutput {
  readonly run: number;
  /** Which of the run's choices; 0 where it has one. */
  readonly choice: number;
  readonly token: number;
  readonly logprobs: TokenLogprobs | null;
  /** Set with the last token. */
  readonly finish: FinishReason | null;
}

/** All that one step did. A step without tokens is told too: it is a sign of life. */
export interface StepEvent {
  readonly kind: "step";
  /** For each run that took part, how many tokens its slot holds after the step. */
  readonly held: readonly (readonly [run: number, tokens: number])[];
  readonly outputs: readonly RunOutput[];
  /** For each run that asks, those of the prompt tokens that follow what was fed before. */
  readonly promptLogprobs: readonly (readonly [run: number, logprobs: readonly TokenLogprobs[]])[];
}

export type ChildMessage =
  | LoadedEvent
  | StepEvent
  | { readonly kind: "saved"; readonly run: number }
  /** The first tokens of a run with choices were drawn, and nothing was to be saved. */
  | { readonly kind: "forked"; readonly run: number }
  | { readonly kind: "cancelled"; readonly run: number }
  /** The run is over, and its slot is empty. */
  | { readonly kind: "failed"; readonly run: number; readonly problem: string }
  /** The answer to a slot command; `problem` is null if it went well. A failed one leaves the slot empty. */
  | { readonly kind: "done"; readonly call: number; readonly problem: string | null }
  | { readonly kind: "log"; readonly level: string; readonly line: string }
  /** Loading failed; the child ends. */
  | { readonly kind: "unusable"; readonly problem: string };
