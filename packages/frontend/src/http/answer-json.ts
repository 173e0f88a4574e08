/** Hot path: `delta` once per write of a stream. Budget 1 µs. Bench: bench/http/answer-json.bench.ts */
import type { FinishReason } from "@baton/protocol";
import { codePointCount } from "../output/format-logprobs.ts";
import type { OutputDelta, OutputLogprob, PromptReport } from "../request/request-sink.ts";
import {
  behind,
  chatLogprobs,
  completionLogprobs,
  promptLogprobsArray,
  tokenLogprobs,
} from "./logprobs-json.ts";
import type { AnswerWish, Endpoint } from "./parse-body.ts";
import { type Summaries, summaryFields, usageSoFar } from "./summary-json.ts";

/** What all parts of one answer say. */
export interface AnswerFrame {
  readonly endpoint: Endpoint;
  readonly requestId: string;
  /** The id by which the client knows the request, if it gave one. */
  readonly clientRequestId: string | null;
  readonly model: string;
  /** Epoch seconds. */
  readonly created: number;
  /** Choices of each prompt; those of the first prompt come first. */
  readonly choicesPerPrompt: number;
  readonly wish: AnswerWish;
}

/** One choice so far, for an answer in one piece. */
export interface AnsweredChoice {
  text: string;
  logprobs: OutputLogprob[] | null;
  tokens: number[] | null;
  finishReason: FinishReason | null;
}

/** What is known of each prompt; undefined before its answer begins. */
export type PromptReports = readonly (PromptReport | undefined)[];

/** Writes the server-sent events of one stream. The parts that never change are made once. */
export class StreamJson {
  readonly #frame: AnswerFrame;
  readonly #head: string;
  readonly #prompts: PromptReport[] = [];
  /** Code points of each prompt that stands before its answer. */
  readonly #offsets: number[] = [];
  readonly #started: boolean[] = [];
  /** Tokens of each choice so far. */
  readonly #outputTokens: number[] = [];

  constructor(frame: AnswerFrame) {
    this.#frame = frame;
    this.#head = `data: ${JSON.stringify(headOf(frame, true)).slice(0, -1)},"choices":[`;
  }

  /** A prompt's answer begins. */
  began(prompt: number, report: PromptReport): void {
    this.#prompts[prompt] = report;
    this.#offsets[prompt] = this.#frame.wish.echo ? codePointCount(report.text ?? "") : 0;
  }

  /** The events of one delta; empty if it says nothing. */
  delta(delta: OutputDelta): string {
    const isFirst = this.#started[delta.choice] !== true;
    this.#started[delta.choice] = true;
    this.#outputTokens[delta.choice] = delta.outputTokens;
    const hasNews =
      isFirst ||
      delta.text !== "" ||
      (delta.logprobs?.length ?? 0) > 0 ||
      (delta.tokens?.length ?? 0) > 0;
    const text = hasNews ? this.#news(delta, isFirst) : "";
    return delta.finishReason === null ? text : text + this.#event(this.#finish(delta));
  }

  /** What stands between the last choice's end and `[DONE]`. */
  summary(summaries: Summaries): string {
    const { wish } = this.#frame;
    const fields = JSON.stringify(summaryFields(summaries, wish, wish.includeUsage));
    return fields === "{}" ? "" : `${this.#head}],${fields.slice(1)}\n\n`;
  }

  /** OpenAI's clients gather the logprobs of a chat's first chunk twice: there the role is a chunk of its own. */
  #news(delta: OutputDelta, isFirst: boolean): string {
    const isApart = isFirst && this.#frame.endpoint === "chat" && (delta.logprobs?.length ?? 0) > 0;
    const role = isApart ? this.#event(this.#role(delta.choice)) : "";
    return role + this.#event(this.#choice(delta, isFirst && !isApart));
  }

  #event(choice: string): string {
    return `${this.#head}${choice}]${this.#usage()}}\n\n`;
  }

  #usage(): string {
    const { continuousUsage, includeUsage } = this.#frame.wish;
    if (!includeUsage) return "";
    if (!continuousUsage) return ',"usage":null';
    const promptTokens = this.#prompts.reduce((sum, prompt) => sum + prompt.promptTokens, 0);
    const outputTokens = this.#outputTokens.reduce((sum, tokens) => sum + tokens, 0);
    return `,"usage":${JSON.stringify(usageSoFar(promptTokens, outputTokens))}`;
  }

  #choice(delta: OutputDelta, isFirst: boolean): string {
    const { choicesPerPrompt, endpoint, wish } = this.#frame;
    const prompt = Math.floor(delta.choice / choicesPerPrompt);
    const echoed = wish.echo && isFirst ? this.#prompts[prompt] : undefined;
    const offset = this.#offsets[prompt] ?? 0;
    const logprobs = JSON.stringify(logprobsOf(endpoint, delta.logprobs, offset, echoed));
    return `{"index":${delta.choice},${partOf(endpoint, delta, isFirst, echoed)},"logprobs":${logprobs},"finish_reason":null}`;
  }

  #role(choice: number): string {
    return `{"index":${choice},"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`;
  }

  #finish({ choice, finishReason }: OutputDelta): string {
    const body = emptyParts[this.#frame.endpoint];
    return `{"index":${choice},${body},"logprobs":null,"finish_reason":"${finishReason}"}`;
  }
}

const emptyParts: Readonly<Record<Endpoint, string>> = {
  chat: '"delta":{}',
  completions: '"text":""',
  generate: '"token_ids":[]',
};

function partOf(
  endpoint: Endpoint,
  { text, tokens }: OutputDelta,
  isFirst: boolean,
  echoed: PromptReport | undefined,
): string {
  switch (endpoint) {
    case "chat":
      return `"delta":{${isFirst ? '"role":"assistant",' : ""}"content":${JSON.stringify(text)}}`;
    case "completions":
      return `"text":${JSON.stringify((echoed?.text ?? "") + text)}`;
    case "generate":
      return `"token_ids":${JSON.stringify(tokens ?? [])}`;
  }
}

/** The last event of a stream that went well. */
export const doneEvent = "data: [DONE]\n\n";

/** An answer in one piece. */
export function answerBody(
  frame: AnswerFrame,
  choices: readonly AnsweredChoice[],
  prompts: PromptReports,
  summaries: Summaries,
): string {
  const { endpoint, choicesPerPrompt, wish } = frame;
  const [onlyPrompt] = prompts;
  // An answer of several prompts has them by choice.
  const ownPrompts =
    wish.includePromptLogprobs && endpoint !== "completions"
      ? { prompt_logprobs: promptLogprobsArray(onlyPrompt?.logprobs ?? []) }
      : {};
  return JSON.stringify({
    ...headOf(frame, false),
    choices: choices.map((choice, index) =>
      choiceObject(frame, choice, index, prompts[Math.floor(index / choicesPerPrompt)]),
    ),
    ...ownPrompts,
    ...summaryFields(summaries, wish, true),
  });
}

function choiceObject(
  { endpoint, wish }: AnswerFrame,
  choice: AnsweredChoice,
  index: number,
  prompt: PromptReport | undefined,
) {
  const { finishReason, text, tokens } = choice;
  const echoed = wish.echo ? prompt : undefined;
  const offset = codePointCount(echoed?.text ?? "");
  const logprobs = logprobsOf(endpoint, choice.logprobs, offset, echoed);
  const tail = { logprobs, finish_reason: finishReason };
  switch (endpoint) {
    case "chat":
      return { index, message: { role: "assistant", content: text, refusal: null }, ...tail };
    case "completions":
      return {
        index,
        text: (echoed?.text ?? "") + text,
        ...tail,
        ...(wish.includePromptLogprobs
          ? { prompt_logprobs: promptLogprobsArray(prompt?.logprobs ?? []) }
          : {}),
      };
    case "generate":
      return { index, token_ids: tokens ?? [], ...tail };
  }
}

/** `offset`: code points of the text before the output; `echoed`: the prompt, where it stands before these tokens. */
function logprobsOf(
  endpoint: Endpoint,
  logprobs: readonly OutputLogprob[] | null,
  offset: number,
  echoed: PromptReport | undefined,
) {
  if (logprobs === null) return null;
  switch (endpoint) {
    case "chat":
      return chatLogprobs(logprobs);
    case "completions":
      return completionLogprobs([...(echoed?.logprobs ?? []), ...behind(logprobs, offset)]);
    case "generate":
      return tokenLogprobs(logprobs);
  }
}

const objects: Readonly<Record<Endpoint, readonly [prefix: string, whole: string, chunk: string]>> =
  {
    chat: ["chatcmpl", "chat.completion", "chat.completion.chunk"],
    completions: ["cmpl", "text_completion", "text_completion"],
    generate: ["", "", ""],
  };

function headOf(frame: AnswerFrame, isChunk: boolean) {
  const { endpoint, created, model, requestId, clientRequestId } = frame;
  if (endpoint === "generate") return { request_id: clientRequestId ?? requestId, created, model };
  const [prefix, whole, chunk] = objects[endpoint];
  return { id: `${prefix}-${requestId}`, object: isChunk ? chunk : whole, created, model };
}
