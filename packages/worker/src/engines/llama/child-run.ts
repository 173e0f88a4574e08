/** One run inside the child: which tokens it feeds next, what it tells, and when it is over. */

import type { FinishReason, TokenLogprobs } from "@baton/protocol";
import type { RunCommand, RunOutput } from "./child-protocol.ts";
import type { EvaluateItem, NextToken } from "./native-types.ts";
import { type OutputSoFar, readLogprobs, requestLogprobs, type Sampler } from "./sampling.ts";

/** What the library answers for each token that was fed, where it was asked. */
export type Answers = readonly ({ readonly next: NextToken } | undefined)[];

/** What a step has brought a run. */
export interface RunProgress {
  /** One token, or one for each choice; none while the prompt goes on. */
  readonly outputs: readonly RunOutput[];
  readonly promptLogprobs: readonly TokenLogprobs[];
  /** What becomes of the run. */
  readonly fate: "goes_on" | "finished" | "saves" | "forked";
}

export class ChildRun {
  readonly id: number;
  readonly slot: number;
  readonly saveTo: string | null;
  readonly #command: RunCommand;
  readonly #tokens: number[];
  readonly #promptTokens: readonly number[];
  readonly #outputTokens: number[];
  readonly #sampler: Sampler;
  readonly #contextSize: number;
  /** Tokens whose KV the slot holds. */
  #held: number;

  /** Throws if the output so far is none that the sampler could go on with. */
  constructor(command: RunCommand, sampler: Sampler, contextSize: number) {
    this.id = command.run;
    this.slot = command.slot;
    this.saveTo = command.saveTo;
    this.#command = command;
    this.#tokens = Array.from(command.tokens);
    this.#promptTokens = this.#tokens.slice(0, command.promptTokens);
    this.#outputTokens = this.#tokens.slice(command.promptTokens);
    this.#sampler = sampler;
    this.#contextSize = contextSize;
    this.#held = command.kept;
    sampler.resume(this.#outputTokens);
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
    for (const [index, following] of this.#toldTokens(count)) {
      const generateNext = requestLogprobs(following, this.#command.promptLogprobs ?? 0);
      items[index] = [this.#tokens[this.#held + index] ?? 0, { generateNext }];
    }
    if (end === this.#tokens.length) {
      const isForked = this.#command.choiceSeeds !== null;
      const generateNext = isForked
        ? this.#sampler.requestFirst()
        : this.#sampler.request(this.#soFar());
      items[count - 1] = [this.#tokens[end - 1] ?? 0, { generateNext }];
    }
    return items;
  }

  /** The step has fed `count` tokens, to which these are the answers. Throws if one is missing. */
  advance(count: number, answers: Answers): RunProgress {
    const promptLogprobs = this.#readPromptLogprobs(count, answers);
    this.#held += count;
    if (this.#held < this.#tokens.length) {
      return { outputs: [], promptLogprobs, fate: "goes_on" };
    }
    const next = answers[count - 1]?.next;
    if (next === undefined) throw new Error("the library gave no next token");
    const outputs = this.#outputs(next);
    return { outputs, promptLogprobs, fate: this.#fate(outputs) };
  }

  #outputs(next: NextToken): RunOutput[] {
    const { choiceSeeds } = this.#command;
    if (choiceSeeds !== null) {
      return choiceSeeds.map((seed, choice) => {
        const { token, logprobs } = this.#sampler.chooseFirst(next, this.#soFar(), seed);
        return { run: this.id, choice, token, logprobs, finish: this.#finish(token, 1) };
      });
    }
    const { token, logprobs } = this.#sampler.choose(next, this.#soFar());
    this.#tokens.push(token);
    this.#outputTokens.push(token);
    const finish = this.#finish(token, this.#outputTokens.length);
    return [{ run: this.id, choice: 0, token, logprobs, finish }];
  }

  #fate(outputs: readonly RunOutput[]): RunProgress["fate"] {
    const isForked = this.#command.choiceSeeds !== null;
    const isOver = outputs.every(({ finish }) => finish !== null);
    if (this.saveTo !== null && !isOver) return "saves";
    if (isForked) return "forked";
    return isOver ? "finished" : "goes_on";
  }

  /** Prompt tokens that follow those of the next `count`, by the index of the one before, if they are to be told of. */
  *#toldTokens(count: number): Generator<readonly [index: number, following: number]> {
    if (this.#command.promptLogprobs === null) return;
    for (let index = 0; index < count; index++) {
      const following = this.#promptTokens[this.#held + index + 1];
      if (following !== undefined) yield [index, following];
    }
  }

  #readPromptLogprobs(count: number, answers: Answers): TokenLogprobs[] {
    const told: TokenLogprobs[] = [];
    for (const [index, following] of this.#toldTokens(count)) {
      const next = answers[index]?.next;
      if (next === undefined) throw new Error("the library gave no logits of the prompt");
      told.push(readLogprobs(next, following, this.#command.promptLogprobs ?? 0));
    }
    return told;
  }

  #finish(token: number, outputTokens: number): FinishReason | null {
    if (this.#sampler.isStop(token)) return "stop";
    if (outputTokens >= this.#command.maxTokens) return "length";
    // One token more, and the library would erase the beginning of the sequence.
    if (this.#held >= this.#contextSize - 1) return "length";
    return null;
  }

  #soFar(): OutputSoFar {
    return { promptTokens: this.#promptTokens, outputTokens: this.#outputTokens };
  }
}
