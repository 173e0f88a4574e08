/** Hot path: `delta` once per write of a stream. Budget 1 µs. Bench: bench/http/answer-json.bench.ts */
import type { FinishReason } from "@baton/protocol";
import type { OutputDelta, OutputLogprob, RequestSummary } from "../request/request-sink.ts";
import { nvextObject } from "./nvext-json.ts";
import type { AnswerWish, Endpoint } from "./parse-body.ts";

/** What all parts of one answer say. */
export interface AnswerFrame {
  readonly endpoint: Endpoint;
  readonly requestId: string;
  readonly model: string;
  /** Epoch seconds. */
  readonly created: number;
  readonly wish: AnswerWish;
}

/** The text of one choice so far, for an answer in one piece. */
export interface ChoiceText {
  text: string;
  logprobs: OutputLogprob[] | null;
  finishReason: FinishReason | null;
}

/** Writes the server-sent events of one stream. The parts that never change are made once. */
export class StreamJson {
  readonly #frame: AnswerFrame;
  readonly #head: string;
  readonly #usage: string;
  readonly #started: boolean[] = [];
  /** Length of each choice's text, for the offsets of completions. */
  readonly #offsets: number[] = [];

  constructor(frame: AnswerFrame) {
    this.#frame = frame;
    const { endpoint, created, model } = frame;
    const object = endpoint === "chat" ? "chat.completion.chunk" : "text_completion";
    const head = { id: answerId(frame), object, created, model };
    this.#head = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`;
    this.#usage = frame.wish.includeUsage ? ',"usage":null' : "";
  }

  /** The events of one delta; empty if it says nothing. */
  delta(delta: OutputDelta): string {
    const isFirst = this.#started[delta.choice] !== true;
    this.#started[delta.choice] = true;
    const hasNews = isFirst || delta.text !== "" || (delta.logprobs?.length ?? 0) > 0;
    const text = hasNews ? this.#event(this.#choice(delta, isFirst)) : "";
    return delta.finishReason === null ? text : text + this.#event(this.#finish(delta));
  }

  /** What stands between the last choice's end and `[DONE]`. */
  summary(summary: RequestSummary): string {
    const baton = batonObject(summary, this.#frame.wish);
    const nvext = nvextObject(summary, this.#frame.wish);
    const usage = this.#frame.wish.includeUsage ? usageObject(summary) : null;
    if (baton === null && usage === null && nvext === null) return "";
    const parts = [
      ...(usage === null ? [] : [`"usage":${JSON.stringify(usage)}`]),
      ...(baton === null ? [] : [`"baton":${JSON.stringify(baton)}`]),
      ...(nvext === null ? [] : [`"nvext":${JSON.stringify(nvext)}`]),
    ];
    return `${this.#head}],${parts.join(",")}}\n\n`;
  }

  #event(choice: string): string {
    return `${this.#head}${choice}]${this.#usage}}\n\n`;
  }

  #choice(delta: OutputDelta, isFirst: boolean): string {
    const text = JSON.stringify(delta.text);
    const logprobs = this.#logprobs(delta);
    const body =
      this.#frame.endpoint === "completions"
        ? `"text":${text}`
        : `"delta":{${isFirst ? '"role":"assistant",' : ""}"content":${text}}`;
    return `{"index":${delta.choice},${body},"logprobs":${logprobs},"finish_reason":null}`;
  }

  #finish({ choice, finishReason }: OutputDelta): string {
    const body = this.#frame.endpoint === "completions" ? '"text":""' : '"delta":{}';
    return `{"index":${choice},${body},"logprobs":null,"finish_reason":"${finishReason}"}`;
  }

  #logprobs({ choice, logprobs }: OutputDelta): string {
    if (logprobs === null) return "null";
    const offset = this.#offsets[choice] ?? 0;
    this.#offsets[choice] = offset + tokensLength(logprobs);
    return JSON.stringify(logprobsObject(this.#frame.endpoint, logprobs, offset));
  }
}

/** The last event of a stream that went well. */
export const doneEvent = "data: [DONE]\n\n";

/** An answer in one piece. */
export function answerBody(
  frame: AnswerFrame,
  choices: readonly ChoiceText[],
  summary: RequestSummary,
): string {
  const { endpoint, created, model, wish } = frame;
  const baton = batonObject(summary, wish);
  const nvext = nvextObject(summary, wish);
  return JSON.stringify({
    id: answerId(frame),
    object: endpoint === "chat" ? "chat.completion" : "text_completion",
    created,
    model,
    choices: choices.map((choice, index) => choiceObject(endpoint, choice, index)),
    usage: usageObject(summary),
    ...(baton === null ? {} : { baton }),
    ...(nvext === null ? {} : { nvext }),
  });
}

function choiceObject(endpoint: Endpoint, choice: ChoiceText, index: number) {
  const { text, finishReason } = choice;
  const logprobs = choice.logprobs === null ? null : logprobsObject(endpoint, choice.logprobs, 0);
  const tail = { logprobs, finish_reason: finishReason };
  return endpoint === "completions"
    ? { index, text, ...tail }
    : { index, message: { role: "assistant", content: text, refusal: null }, ...tail };
}

function logprobsObject(
  endpoint: Endpoint,
  logprobs: readonly OutputLogprob[],
  firstOffset: number,
) {
  if (endpoint === "chat") {
    const content = logprobs.map(({ top, ...chosen }) => ({
      ...finite(chosen),
      top_logprobs: top.map(finite),
    }));
    return { content, refusal: null };
  }
  let offset = firstOffset;
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => finite({ logprob }).logprob),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map((one) => [one.token, finite(one).logprob])),
    ),
    text_offset: logprobs.map(({ token }) => {
      const at = offset;
      offset += token.length;
      return at;
    }),
  };
}

/** JSON has no infinity; OpenAI writes this figure for what is as good as impossible. */
const leastLogprob = -9999;

function finite<T extends { readonly logprob: number }>(entry: T): T {
  return Number.isFinite(entry.logprob) ? entry : { ...entry, logprob: leastLogprob };
}

function tokensLength(logprobs: readonly OutputLogprob[]): number {
  let length = 0;
  for (const { token } of logprobs) length += token.length;
  return length;
}

function usageObject({ promptTokens, outputTokens, cachedTokens }: RequestSummary) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

function batonObject(summary: RequestSummary, wish: AnswerWish) {
  if (!wish.includeRoute && !wish.includeTiming) return null;
  const route = {
    mode: summary.mode,
    prefill_worker: summary.prefillWorker,
    decode_worker: summary.decodeWorker,
  };
  return {
    ...(wish.includeRoute ? route : {}),
    ...(wish.includeTiming ? { timing_ms: toMicroseconds(summary.timingMs) } : {}),
  };
}

function answerId({ endpoint, requestId }: AnswerFrame): string {
  return `${endpoint === "chat" ? "chatcmpl" : "cmpl"}-${requestId}`;
}

/** Times as people read them: milliseconds to the microsecond. */
function toMicroseconds(timingMs: RequestSummary["timingMs"]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(timingMs).map(([state, ms]) => [state, Math.round(ms * 1_000) / 1_000]),
  );
}
