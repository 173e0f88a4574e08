import { readOutputShape } from "@baton/text";
import type { WantedOutput } from "../request/serving-request.ts";

/** Says whether engines can keep to the grammar of an output. The prompts of one body share theirs: it is read once. */
export class GrammarCheck {
  readonly #taken = new WeakSet<NonNullable<WantedOutput["grammar"]>>();

  /** Throws `invalid_request` or `unsupported` for `response_format`. */
  check({ grammar }: WantedOutput): void {
    if (grammar === undefined || this.#taken.has(grammar)) return;
    readOutputShape(grammar);
    this.#taken.add(grammar);
  }
}
