/** Hot path: once per frame and request. Bench: bench/output/choice-output.bench.ts */
import type { FrameEntry } from "@baton/protocol";
import type { TextModel } from "../prepare/text-model.ts";
import type { OutputDelta } from "../request/request-sink.ts";
import { type Accepted, type ChoiceOptions, ChoiceOutput } from "./choice-output.ts";

/** The output of all choices of one request. */
export class RequestOutput {
  readonly #choices: readonly ChoiceOutput[];

  constructor(model: TextModel, choices: number, options: ChoiceOptions) {
    this.#choices = Array.from(
      { length: choices },
      (_, choice) => new ChoiceOutput(choice, model, options),
    );
  }

  /** Takes one entry; one of a choice that there is not is left out. */
  accept(entry: FrameEntry): Accepted {
    return this.#choices[entry.choice]?.accept(entry) ?? "repeated";
  }

  /** What is due, in order of choice. */
  take(): readonly OutputDelta[] {
    const deltas: OutputDelta[] = [];
    for (const choice of this.#choices) {
      const delta = choice.take();
      if (delta !== null) deltas.push(delta);
    }
    return deltas;
  }

  /** Whether every choice has given out its last text. */
  get isClosed(): boolean {
    return this.#choices.every((choice) => choice.closedBy !== null);
  }

  /** Whether a choice ended of which its worker does not know. */
  get isCutShort(): boolean {
    return this.#choices.some((choice) => choice.closedBy === "stop-text");
  }

  get returnedTokens(): number {
    let tokens = 0;
    for (const choice of this.#choices) tokens += choice.returnedTokens;
    return tokens;
  }
}
