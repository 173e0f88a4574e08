import { type ModelCard, type ModelName, ServingError, type Why } from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";
import type { Logger } from "pino";
import type { TextModels } from "./text-models.ts";

/** What a follower of text models needs. */
export interface TextReadinessDeps {
  readonly textModels: Pick<TextModels, "warmUp">;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long the first text models are waited for, ms. */
  readonly warmUpMs: number;
  /** A text model was loaded, failed, or is waited for no longer. */
  readonly onChange: () => void;
}

/** A model, as far as its text goes. */
export interface NamedCard {
  readonly name: ModelName;
  readonly card: Pick<ModelCard, "tokenizerChecksum"> | null;
}

type TextState =
  | { readonly kind: "loading" }
  | { readonly kind: "loaded" }
  | { readonly kind: "failed"; readonly error: ServingError };

/** How long after a failure a text model is tried again, ms, if nothing changes before. */
const retryMs = 5_000;

/**
 * Loads the text models of all cards before requests ask for them, and says which are not there yet. A Frontend that starts
 * is ready once those it knows are loaded, cannot be had, or have taken too long.
 */
export class TextReadiness {
  readonly #deps: TextReadinessDeps;
  /** By checksum; only what cards name. */
  readonly #states = new Map<string, TextState>();
  #models: readonly NamedCard[] = [];
  /** Until when the first ones are waited for. */
  #bound: Timer | null = null;
  #retry: Timer | null = null;
  #isOver = false;
  #isStopped = false;

  constructor(deps: TextReadinessDeps) {
    this.#deps = deps;
  }

  /** Loads what these models need. What failed is tried again: a worker that has it may have come. */
  follow(models: readonly NamedCard[]): void {
    this.#models = models;
    const named = new Set(models.map(({ card }) => card?.tokenizerChecksum));
    for (const checksum of this.#states.keys()) {
      if (!named.has(checksum)) this.#states.delete(checksum);
    }
    for (const { name, card } of models) {
      if (card !== null) this.#warmUp(name, card.tokenizerChecksum);
    }
  }

  /** What a start waits for, in words; null when it is over, and from then on. Asked once all models are known. */
  waitsFor(): string | null {
    if (this.#isOver) return null;
    const names = this.#models.filter(({ card }) => this.#isLoading(card)).map(({ name }) => name);
    if (names.length === 0) {
      this.#endWait();
      return null;
    }
    this.#bound ??= this.#deps.clock.setTimer(this.#deps.warmUpMs, () => {
      this.#deps.log.warn({ models: names }, "ready without all tokenizers");
      this.#endWait();
      this.#deps.onChange();
    });
    return `loads the tokenizer of ${names.join(", ")}`;
  }

  /** Why the text of a model is not there; null if it is, or will be made when it is asked for. */
  why(model: string, checksum: string): Why | null {
    const state = this.#states.get(checksum);
    if (state === undefined || state.kind === "loaded") return null;
    const text =
      state.kind === "failed" ? state.error.message : `the tokenizer of ${model} is being loaded`;
    return { code: "activating", text };
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#endWait();
  }

  #isLoading(card: NamedCard["card"]): boolean {
    return card !== null && this.#states.get(card.tokenizerChecksum)?.kind === "loading";
  }

  #endWait(): void {
    this.#isOver = true;
    this.#bound?.cancel();
    this.#bound = null;
  }

  #warmUp(model: ModelName, checksum: string): void {
    const state = this.#states.get(checksum);
    if (state?.kind === "loading" || state?.kind === "loaded") return;
    this.#states.set(checksum, { kind: "loading" });
    void this.#deps.textModels.warmUp(model, checksum).then(
      () => this.#settled(checksum, { kind: "loaded" }),
      (cause: unknown) => {
        const error = ServingError.from(cause);
        this.#deps.log.warn({ err: error, model }, "tokenizer not loaded");
        this.#settled(checksum, { kind: "failed", error });
      },
    );
  }

  #settled(checksum: string, state: TextState): void {
    if (this.#isStopped || !this.#states.has(checksum)) return;
    this.#states.set(checksum, state);
    if (state.kind === "failed") this.#retryLater();
    this.#deps.onChange();
  }

  #retryLater(): void {
    this.#retry ??= this.#deps.clock.setTimer(retryMs, () => {
      this.#retry = null;
      this.follow(this.#models);
      this.#deps.onChange();
    });
  }
}
