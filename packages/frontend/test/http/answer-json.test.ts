import { describe, expect, it } from "vitest";
import { type AnswerFrame, answerBody, StreamJson } from "../../src/http/answer-json.ts";
import type { OutputLogprob } from "../../src/request/request-sink.ts";
import { eventsOf } from "../support/api-rig.ts";
import { deltaOf, summary } from "../support/fake-port.ts";

const wish = {
  stream: true,
  includeUsage: false,
  includeRoute: false,
  includeTiming: false,
  includeWorkerIds: false,
  includeNvextTiming: false,
};
const chat: AnswerFrame = { endpoint: "chat", requestId: "r1", model: "m", created: 5, wish };
const completions: AnswerFrame = { ...chat, endpoint: "completions" };
const logprobs: readonly OutputLogprob[] = [
  {
    token: "Hé",
    logprob: -0.5,
    bytes: [72, 195, 169],
    top: [{ token: "x", logprob: Number.NEGATIVE_INFINITY, bytes: [120] }],
  },
  { token: "!", logprob: -1, bytes: [33], top: [] },
];

const parsed = (text: string) => eventsOf(text).map(([, data]) => JSON.parse(data));

describe("the events of a stream", () => {
  it("are whole chat chunks, the role in the first of each choice", () => {
    const json = new StreamJson(chat);

    const [first] = parsed(json.delta(deltaOf('a"\n')));
    const [second] = parsed(json.delta(deltaOf("b")));
    const [other] = parsed(json.delta(deltaOf("", { choice: 1 })));

    const head = { id: "chatcmpl-r1", object: "chat.completion.chunk", created: 5, model: "m" };
    const choice = (index: number, delta: object) => ({
      ...head,
      choices: [{ index, delta, logprobs: null, finish_reason: null }],
    });
    expect(first).toEqual(choice(0, { role: "assistant", content: 'a"\n' }));
    expect(second).toEqual(choice(0, { content: "b" }));
    expect(other).toEqual(choice(1, { role: "assistant", content: "" }));
  });

  it("say nothing where nothing is new, and the reason in a chunk of its own", () => {
    const json = new StreamJson(completions);
    json.delta(deltaOf("a"));

    expect(json.delta(deltaOf(""))).toBe("");
    expect(parsed(json.delta(deltaOf("", { finishReason: "length" })))).toEqual([
      {
        id: "cmpl-r1",
        object: "text_completion",
        created: 5,
        model: "m",
        choices: [{ index: 0, text: "", logprobs: null, finish_reason: "length" }],
      },
    ]);
  });

  it("go on with the offsets of a completion's logprobs", () => {
    const json = new StreamJson(completions);
    json.delta(deltaOf("Hé!", { logprobs }));

    const [event] = parsed(json.delta(deltaOf("Hé!", { logprobs })));

    expect(event.choices[0].logprobs.text_offset).toEqual([3, 5]);
  });
});

describe("logprobs", () => {
  it("of a chat have bytes and alternatives, and a figure for minus infinity", () => {
    const choices = [{ text: "Hé!", logprobs: [...logprobs], finishReason: "stop" as const }];

    expect(JSON.parse(answerBody(chat, choices, summary)).choices[0].logprobs).toEqual({
      content: [
        {
          token: "Hé",
          logprob: -0.5,
          bytes: [72, 195, 169],
          top_logprobs: [{ token: "x", logprob: -9999, bytes: [120] }],
        },
        { token: "!", logprob: -1, bytes: [33], top_logprobs: [] },
      ],
      refusal: null,
    });
  });

  it("of a completion are lists side by side", () => {
    const choices = [{ text: "Hé!", logprobs: [...logprobs], finishReason: "stop" as const }];

    expect(JSON.parse(answerBody(completions, choices, summary)).choices[0].logprobs).toEqual({
      tokens: ["Hé", "!"],
      token_logprobs: [-0.5, -1],
      top_logprobs: [{ x: -9999 }, {}],
      text_offset: [0, 2],
    });
  });
});
