import { unsupportedGrammar } from "./grammar-errors.ts";

/** Steps of some tens of nanoseconds: reading one schema holds the loop for a few milliseconds at most. */
const mostSteps = 50_000;

/** What reading one schema may cost. A short text can ask for work without end: options of options, all compared. */
export class ReadingEffort {
  #stepsLeft = mostSteps;

  /** Throws `unsupported` when too much is spent. */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) {
      throw unsupportedGrammar("such a tangle of alternatives and references");
    }
  }
}
