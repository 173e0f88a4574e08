/** Hot path: `output` once per stream and turn of the loop. */
import type { RequestState, ServingError } from "@baton/protocol";
import type { OutputDelta, PromptReport } from "../request/request-sink.ts";
import {
  type AnsweredChoice,
  type AnswerFrame,
  answerBody,
  doneEvent,
  StreamJson,
} from "./answer-json.ts";
import { errorObject } from "./error-body.ts";
import type { StreamWriter } from "./stream-writer.ts";
import type { Summaries } from "./summary-json.ts";

/** How the answer to a body ended. */
export type AnswerEnd =
  | { readonly kind: "completed"; readonly summaries: Summaries }
  | { readonly kind: "failed"; readonly stage: RequestState; readonly error: ServingError }
  /** Nobody is left to read of it. */
  | { readonly kind: "cancelled" };

/** Where the answer to a body goes, which may have several prompts. Called synchronously, and not after `ended`. */
export interface AnswerSink {
  /** Called once a prompt, right before its first output. */
  began(prompt: number, report: PromptReport): void;
  /** What is new of choices that are numbered through all prompts. */
  output(deltas: readonly OutputDelta[]): void;
  /** Called exactly once. */
  ended(end: AnswerEnd): void;
}

/** What an answer that has not begun may still become. */
export interface PlainReply {
  /** Sends an answer in one piece. */
  sendJson(body: string): void;
  sendError(error: ServingError, stage: RequestState): void;
}

/** Gathers an answer and sends it in one piece. */
export class WholeAnswer implements AnswerSink {
  readonly #frame: AnswerFrame;
  readonly #reply: PlainReply;
  readonly #choices: AnsweredChoice[];
  readonly #prompts: PromptReport[] = [];

  /** `choices`: of all prompts. */
  constructor(frame: AnswerFrame, choices: number, reply: PlainReply) {
    this.#frame = frame;
    this.#reply = reply;
    this.#choices = Array.from({ length: choices }, () => ({
      text: "",
      logprobs: null,
      tokens: null,
      finishReason: null,
    }));
  }

  began(prompt: number, report: PromptReport): void {
    this.#prompts[prompt] = report;
  }

  output(deltas: readonly OutputDelta[]): void {
    for (const delta of deltas) {
      const choice = this.#choices[delta.choice];
      if (choice === undefined) continue;
      choice.text += delta.text;
      choice.finishReason = delta.finishReason;
      choice.logprobs = joined(choice.logprobs, delta.logprobs);
      choice.tokens = joined(choice.tokens, delta.tokens);
    }
  }

  ended(end: AnswerEnd): void {
    if (end.kind === "failed") this.#reply.sendError(end.error, end.stage);
    if (end.kind !== "completed") return;
    this.#reply.sendJson(answerBody(this.#frame, this.#choices, this.#prompts, end.summaries));
  }
}

function joined<T>(known: T[] | null, more: readonly T[] | null): T[] | null {
  if (more === null) return known;
  if (known === null) return [...more];
  for (const one of more) known.push(one);
  return known;
}

/** What a stream of events needs beside its frame. */
export interface StreamParts {
  readonly reply: PlainReply;
  readonly writer: StreamWriter;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends an answer as server-sent events. The head goes with the first token: before it a failure is a plain status. */
export class StreamedAnswer implements AnswerSink {
  readonly #frame: AnswerFrame;
  readonly #parts: StreamParts;
  readonly #json: StreamJson;

  constructor(frame: AnswerFrame, parts: StreamParts) {
    this.#frame = frame;
    this.#parts = parts;
    this.#json = new StreamJson(frame);
  }

  began(prompt: number, report: PromptReport): void {
    this.#json.began(prompt, report);
  }

  output(deltas: readonly OutputDelta[]): void {
    const { writer, headers } = this.#parts;
    let text = "";
    let isLast = false;
    for (const delta of deltas) {
      text += this.#json.delta(delta);
      if (delta.finishReason !== null) isLast = true;
    }
    if (writer.isOpen) writer.write(text, isLast);
    else writer.open(headers, text);
  }

  ended(end: AnswerEnd): void {
    const { headers, reply, writer } = this.#parts;
    if (end.kind === "cancelled") return;
    if (end.kind === "completed") {
      if (!writer.isOpen) writer.open(headers, "");
      writer.end(this.#json.summary(end.summaries) + doneEvent);
    } else if (writer.isOpen) {
      const error = errorObject(end.error, end.stage, this.#frame.requestId);
      writer.end(`event: error\ndata: ${JSON.stringify({ error })}\n\n`);
    } else {
      reply.sendError(end.error, end.stage);
    }
  }
}
