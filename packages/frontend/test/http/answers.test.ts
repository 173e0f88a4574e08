import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { StreamedAnswer, WholeAnswer } from "../../src/http/answers.ts";
import type { StreamWriter } from "../../src/http/stream-writer.ts";
import { eventsOf } from "../support/api-rig.ts";
import { chatFrame, logprobOf, plainWish } from "../support/bodies.ts";
import { deltaOf, summary } from "../support/fake-port.ts";

const wish = { ...plainWish, includeUsage: true, includeRoute: true, includeTiming: true };
const frame = { ...chatFrame, choicesPerPrompt: 2, wish };

function recordingReply() {
  const sent: string[] = [];
  return {
    sent,
    reply: {
      sendJson: (body: string) => sent.push(body),
      sendError: (error: ServingError, stage: string) => sent.push(`${stage} ${error.code}`),
    },
  };
}

function recordingWriter() {
  const writes: string[] = [];
  let isOpen = false;
  const writer = {
    get isOpen() {
      return isOpen;
    },
    open: (_headers: unknown, text: string) => {
      isOpen = true;
      writes.push(text);
    },
    write: (text: string) => writes.push(text),
    end: (text: string) => writes.push(`${text}END`),
  };
  return { writer: writer as unknown as StreamWriter, writes };
}

describe("an answer in one piece", () => {
  it("has each choice's text and logprobs in order", () => {
    const { reply, sent } = recordingReply();
    const answer = new WholeAnswer(frame, 2, reply);
    const logprob = logprobOf("b");

    answer.output([deltaOf("a", { choice: 1 }), deltaOf("b", { logprobs: [logprob] })]);
    answer.output([deltaOf("c", { choice: 1, finishReason: "length" })]);
    answer.output([deltaOf("", { finishReason: "stop", logprobs: [logprob] })]);
    answer.ended({ kind: "completed", summaries: [summary] });

    const { choices } = JSON.parse(sent[0] ?? "");
    expect(choices.map((one: { message: { content: string } }) => one.message.content)).toEqual([
      "b",
      "ac",
    ]);
    expect(choices[0].logprobs.content).toHaveLength(2);
    expect(choices[1].finish_reason).toBe("length");
  });

  it("is an error if it failed, however much had come, and nothing if it was cancelled", () => {
    const { reply, sent } = recordingReply();
    const error = new ServingError("worker_lost");
    const failed = new WholeAnswer(frame, 1, reply);
    failed.output([deltaOf("a")]);

    failed.ended({ kind: "failed", stage: "decode.streaming", error });
    new WholeAnswer(frame, 1, reply).ended({ kind: "cancelled" });

    expect(sent).toEqual(["decode.streaming worker_lost"]);
  });
});

describe("an answer as events", () => {
  it("writes all choices of one turn at once, and ends with usage, route and [DONE]", () => {
    const { writer, writes } = recordingWriter();
    const { reply } = recordingReply();
    const answer = new StreamedAnswer(frame, { writer, reply, headers: {} });

    answer.output([deltaOf("a"), deltaOf("b", { choice: 1 })]);
    answer.ended({ kind: "completed", summaries: [summary] });

    expect(writes).toHaveLength(2);
    expect(eventsOf(writes[0] ?? "")).toHaveLength(2);
    const [last, done] = eventsOf(writes[1] ?? "");
    expect(JSON.parse(last?.[1] ?? "")).toMatchObject({
      choices: [],
      usage: { completion_tokens: 2 },
      baton: { mode: "disaggregated", timing_ms: { preparing: 1.5 } },
    });
    expect(done?.[1]).toBe("[DONE]");
  });

  it("says nothing more to a client that has left", () => {
    const { writer, writes } = recordingWriter();
    const { reply, sent } = recordingReply();

    new StreamedAnswer(frame, { writer, reply, headers: {} }).ended({ kind: "cancelled" });

    expect(writes).toEqual([]);
    expect(sent).toEqual([]);
  });
});
