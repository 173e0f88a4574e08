/** Hot path: `accept` once per choice and frame, `take` once per choice and write. Budget 200 ns a token. Bench: bench/output/choice-output.bench.ts */
import type { FinishReason, FrameEntry, TokenLogprobs } from "@baton/protocol";
import { StopMatcher } from "@baton/text";
import type { TextModel, TokenDecoder } from "../prepare/text-model.ts";
import type { OutputDelta, OutputLogprob } from "../request/request-sink.ts";
import { codePointCount, formatLogprobs, type TokenForms, tokenForms } from "./format-logprobs.ts";

/** What is wanted of a choice's output. */
export interface ChoiceOptions {
  readonly stop: readonly string[];
  readonly stopTokenIds: readonly number[];
  readonly logprobs: boolean;
  /** Whether the ids of all counted tokens are given out, and the logprobs of one that is not shown. */
  readonly tokens: boolean;
}

/** What became of a frame's entry. A `gap` means that tokens before it never came. */
export type Accepted = "taken" | "repeated" | "gap";

/** The output of one choice: takes tokens as they come, gives out text that no later token can change. */
export class ChoiceOutput {
  readonly #choice: number;
  readonly #model: TextModel;
  readonly #options: ChoiceOptions;
  readonly #forms: TokenForms;
  readonly #decoder: TokenDecoder;
  readonly #matcher: StopMatcher | null;
  /** Tokens that `take` has not looked at. */
  #pending: number[] = [];
  #pendingLogprobs: (TokenLogprobs | null)[] = [];
  #received = 0;
  /** Code points of the text of all tokens that were looked at; not counted without logprobs. */
  #textOffset = 0;
  #returned = 0;
  #end: FinishReason | null = null;
  #closedBy: "worker" | "stop-text" | null = null;

  constructor(choice: number, model: TextModel, options: ChoiceOptions) {
    this.#choice = choice;
    this.#model = model;
    this.#options = options;
    this.#forms = tokenForms(model);
    this.#decoder = model.decoder();
    this.#matcher = options.stop.length > 0 ? new StopMatcher(options.stop) : null;
  }

  /** Null while the choice goes on; then whether its worker ended it, or a stop text that the worker knows nothing of. */
  get closedBy(): "worker" | "stop-text" | null {
    return this.#closedBy;
  }

  /** Tokens that the client has got or that its stop text was made of. */
  get returnedTokens(): number {
    return this.#returned;
  }

  /** Takes what is new of an entry. What was taken before is left out. */
  accept(entry: FrameEntry): Accepted {
    // A worker goes on after a stop text while other choices do, and nobody counts those tokens.
    if (this.#end !== null || this.#closedBy !== null) return "repeated";
    if (entry.offset > this.#received) return "gap";
    const known = this.#received - entry.offset;
    for (let at = known; at < entry.tokens.length; at += 1) {
      this.#pending.push(entry.tokens[at] ?? 0);
      if (this.#options.logprobs) this.#pendingLogprobs.push(entry.logprobs?.[at] ?? null);
    }
    const isNew = entry.tokens.length > known;
    this.#received = Math.max(this.#received, entry.offset + entry.tokens.length);
    if (entry.end !== null && entry.end.reason !== "error") this.#end = entry.end.reason;
    return isNew || entry.end !== null ? "taken" : "repeated";
  }

  /** The text of all tokens taken so far that was not given out; null if there is nothing to say. */
  take(): OutputDelta | null {
    const held = this.#heldTokens();
    const due = this.#pending.length - held;
    if (this.#closedBy !== null || (due === 0 && this.#end === null)) return null;
    const returnedBefore = this.#returned;
    const logprobs: OutputLogprob[] | null = this.#options.logprobs ? [] : null;
    let text = this.#takeTokens(due, logprobs);
    if (this.#closedBy === null && this.#end !== null) text += this.#close();
    const tokens = this.#options.tokens
      ? this.#pending.slice(0, this.#returned - returnedBefore)
      : null;
    this.#pending = this.#pending.slice(due);
    this.#pendingLogprobs = this.#pendingLogprobs.slice(due);
    return {
      choice: this.#choice,
      text,
      logprobs,
      tokens,
      outputTokens: this.#returned,
      finishReason: this.#finishReason(),
    };
  }

  #takeTokens(due: number, logprobs: OutputLogprob[] | null): string {
    const pending = this.#pending;
    const shown = this.#end === "stop" && this.#isLastAnEnd() ? due - 1 : due;
    let text = "";
    for (let at = 0; at < shown && this.#closedBy === null; at += 1) {
      const id = pending[at] ?? 0;
      this.#returned += 1;
      const piece = this.#decoder.push(id);
      if (logprobs !== null) this.#takeLogprobs(logprobs, at, piece);
      text += this.#feed(piece);
    }
    if (shown < due && this.#closedBy === null) {
      this.#returned += 1;
      if (logprobs !== null && this.#options.tokens) this.#takeLogprobs(logprobs, shown, "");
    }
    return text;
  }

  #takeLogprobs(logprobs: OutputLogprob[], at: number, piece: string): void {
    const logprob = this.#pendingLogprobs[at];
    if (logprob) {
      const token = { id: this.#pending[at] ?? 0, textOffset: this.#textOffset };
      logprobs.push(formatLogprobs(this.#forms, token, logprob));
    }
    this.#textOffset += codePointCount(piece);
  }

  /**
   * The token that ended the generation is counted, and not shown. Its engine may say only later that it was that one: until
   * then, or until another token follows, it is held back.
   */
  #heldTokens(): number {
    return this.#end === null && this.#isLastAnEnd() ? 1 : 0;
  }

  #isLastAnEnd(): boolean {
    const last = this.#pending.at(-1);
    if (last === undefined) return false;
    return this.#model.endsGeneration(last) || this.#options.stopTokenIds.includes(last);
  }

  #feed(text: string): string {
    if (this.#matcher === null || text === "") return text;
    const { emit, matched } = this.#matcher.feed(text);
    if (matched !== undefined) this.#closedBy = "stop-text";
    return emit;
  }

  #close(): string {
    const text = this.#feed(this.#decoder.flush());
    if (this.#closedBy !== null) return text;
    this.#closedBy = "worker";
    return text + (this.#matcher?.flush() ?? "");
  }

  #finishReason(): FinishReason | null {
    return this.#closedBy === "stop-text" ? "stop" : this.#closedBy === "worker" ? this.#end : null;
  }
}
