/** One run inside the child: which tokens it feeds next, and when it is over. */

import type { FinishReason } from "@baton/protocol";
import type { RunCommand, RunOutput } from "./child-protocol.ts";
import type { EvaluateItem, NextToken } from "./native-types.ts";
import type { Sampler } from "./sampling.ts";

export class ChildRun {
  readonly id: number;
  readonly slot: number;
  readonly saveTo: string | null;
  readonly #tokens: number[];
  readonly #promptTokens: readonly number[];
  readonly #outputTokens: number[];
  readonly #sampler: Sampler;
  readonly #maxTokens: number;
  readonly #contextSize: number;
  /** Tokens whose KV the slot holds. */
  #held: number;

  constructor(command: RunCommand, sampler: Sampler, contextSize: number) {
    this.id = command.run;
    this.slot = command.slot;
    this.saveTo = command.saveTo;
    this.#tokens = Array.from(command.tokens);
    this.#promptTokens = this.#tokens.slice(0, command.promptTokens);
    this.#outputTokens = this.#tokens.slice(command.promptTokens);
    this.#sampler = sampler;
    this.#maxTokens = command.maxTokens;
    this.#contextSize = contextSize;
    this.#held = command.kept;
  }

  get held(): number {
    return this.#held;
  }

  /** Tokens that wait to be fed. One: the run decodes, and takes part in every step. */
  get waiting(): number {
    return this.#tokens.length - this.#held;
  }

  /** How many tokens the next step feeds: up to the next multiple of `chunkTokens`. */
  nextChunk(chunkTokens: number): number {
    const chunkEnd = (Math.floor(this.#held / chunkTokens) + 1) * chunkTokens;
    return Math.min(chunkEnd, this.#tokens.length) - this.#held;
  }

  /** The next `count` tokens, the last of all with the request for the one after it. */
  items(count: number): EvaluateItem[] {
    const end = this.#held + count;
    const items: EvaluateItem[] = this.#tokens.slice(this.#held, end);
    if (end === this.#tokens.length) {
      const last = this.#tokens[end - 1] ?? 0;
      items[count - 1] = [last, { generateNext: this.#sampler.request(this.#soFar()) }];
    }
    return items;
  }

  /** The step has fed `count` tokens; `next` answers the last of all. Returns a new token, if there is one. */
  advance(count: number, next: NextToken | undefined): RunOutput | undefined {
    this.#held += count;
    if (this.#held < this.#tokens.length) return undefined;
    if (next === undefined) throw new Error("the library gave no next token");
    const { token, logprobs } = this.#sampler.choose(next, this.#soFar());
    this.#tokens.push(token);
    this.#outputTokens.push(token);
    return { run: this.id, token, logprobs, finish: this.#finish(token) };
  }

  #finish(token: number): FinishReason | null {
    if (this.#sampler.isStop(token)) return "stop";
    if (this.#outputTokens.length >= this.#maxTokens) return "length";
    // One token more, and the library would erase the beginning of the sequence.
    if (this.#held >= this.#contextSize - 1) return "length";
    return null;
  }

  #soFar(): { promptTokens: readonly number[]; outputTokens: readonly number[] } {
    return { promptTokens: this.#promptTokens, outputTokens: this.#outputTokens };
  }
}
