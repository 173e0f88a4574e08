/** Hot path: `output` once per stream and turn of the loop. */
import type { RequestState, ServingError } from "@baton/protocol";
import type { OutputDelta, RequestEnd, RequestSink } from "../request/request-sink.ts";
import {
  type AnswerFrame,
  answerBody,
  type ChoiceText,
  doneEvent,
  StreamJson,
} from "./answer-json.ts";
import { errorObject } from "./error-body.ts";
import type { StreamWriter } from "./stream-writer.ts";

/** What an answer that has not begun may still become. */
export interface PlainReply {
  /** Sends an answer in one piece. */
  sendJson(body: string): void;
  sendError(error: ServingError, stage: RequestState): void;
}

/** Gathers an answer and sends it in one piece. */
export class WholeAnswer implements RequestSink {
  readonly #frame: AnswerFrame;
  readonly #reply: PlainReply;
  readonly #choices: ChoiceText[];

  constructor(frame: AnswerFrame, choices: number, reply: PlainReply) {
    this.#frame = frame;
    this.#reply = reply;
    this.#choices = Array.from({ length: choices }, () => ({
      text: "",
      logprobs: null,
      finishReason: null,
    }));
  }

  output(deltas: readonly OutputDelta[]): void {
    for (const delta of deltas) {
      const choice = this.#choices[delta.choice];
      if (choice === undefined) continue;
      choice.text += delta.text;
      choice.finishReason = delta.finishReason;
      if (delta.logprobs === null) continue;
      choice.logprobs ??= [];
      choice.logprobs.push(...delta.logprobs);
    }
  }

  ended(end: RequestEnd): void {
    // Nobody is left to read of a cancelled one.
    if (end.kind === "failed") this.#reply.sendError(end.error, end.stage);
    if (end.kind !== "completed") return;
    this.#reply.sendJson(answerBody(this.#frame, this.#choices, end.summary));
  }
}

/** What a stream of events needs beside its frame. */
export interface StreamParts {
  readonly reply: PlainReply;
  readonly writer: StreamWriter;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends an answer as server-sent events. The head goes with the first token: before it a failure is a plain status. */
export class StreamedAnswer implements RequestSink {
  readonly #frame: AnswerFrame;
  readonly #parts: StreamParts;
  readonly #json: StreamJson;

  constructor(frame: AnswerFrame, parts: StreamParts) {
    this.#frame = frame;
    this.#parts = parts;
    this.#json = new StreamJson(frame);
  }

  output(deltas: readonly OutputDelta[]): void {
    const { writer, headers } = this.#parts;
    let text = "";
    for (const delta of deltas) text += this.#json.delta(delta);
    if (writer.isOpen) writer.write(text);
    else writer.open(headers, text);
  }

  ended(end: RequestEnd): void {
    const { headers, reply, writer } = this.#parts;
    if (end.kind === "cancelled") return;
    if (end.kind === "completed") {
      if (!writer.isOpen) writer.open(headers, "");
      writer.end(this.#json.summary(end.summary) + doneEvent);
    } else if (writer.isOpen) {
      const error = errorObject(end.error, end.stage, this.#frame.requestId);
      writer.end(`event: error\ndata: ${JSON.stringify({ error })}\n\n`);
    } else {
      reply.sendError(end.error, end.stage);
    }
  }
}
