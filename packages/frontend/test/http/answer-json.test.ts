import { describe, expect, it } from "vitest";
import { type AnswerFrame, answerBody, StreamJson } from "../../src/http/answer-json.ts";
import type { PromptReport } from "../../src/request/request-sink.ts";
import { eventsOf } from "../support/api-rig.ts";
import { chatFrame as chat, logprobOf, plainWish as wish } from "../support/bodies.ts";
import { deltaOf, summary } from "../support/fake-port.ts";

const completions: AnswerFrame = { ...chat, endpoint: "completions" };
const generate: AnswerFrame = { ...chat, endpoint: "generate" };
const rare = { id: 120, token: "x", logprob: Number.NEGATIVE_INFINITY, bytes: [120] };
const logprobs = [
  logprobOf("Hé", { logprob: -0.5, top: [rare] }),
  logprobOf("!", { textOffset: 2 }),
];
const prompt: PromptReport = {
  promptTokens: 2,
  text: "👩 ",
  logprobs: [
    { ...logprobOf("👩"), logprob: null },
    logprobOf(" ", { textOffset: 1, top: [{ id: 32, token: " ", logprob: -1, bytes: [32] }] }),
  ],
};
const answered = {
  text: "Hé!",
  logprobs,
  tokens: [72, 33],
  finishReason: "stop" as const,
};

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

  it("have a chat's role apart from the first logprobs, which clients would gather twice", () => {
    const json = new StreamJson(chat);
    const choicesOf = (text: string) => parsed(text).map(({ choices }) => choices[0]);

    const first = choicesOf(json.delta(deltaOf("Hé!", { logprobs })));
    const second = choicesOf(json.delta(deltaOf("!", { logprobs })));

    expect(first).toMatchObject([
      { delta: { role: "assistant", content: "" }, logprobs: null },
      { delta: { content: "Hé!" }, logprobs: { content: [{ token: "Hé" }, { token: "!" }] } },
    ]);
    expect(first[1].delta).not.toHaveProperty("role");
    expect(second).toMatchObject([{ delta: { content: "!" } }]);
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

    const more = [logprobOf("a", { textOffset: 3 })];
    const [event] = parsed(json.delta(deltaOf("a", { logprobs: more })));

    expect(event.choices[0].logprobs.text_offset).toEqual([3]);
  });

  it("begin with the prompt in each choice if it is wanted back", () => {
    const json = new StreamJson({
      ...completions,
      choicesPerPrompt: 2,
      wish: { ...wish, echo: true },
    });
    json.began(1, prompt);

    const [first] = parsed(json.delta(deltaOf("Hé!", { choice: 3, logprobs })));
    const [more] = parsed(json.delta(deltaOf("a", { choice: 3, logprobs: [logprobOf("a")] })));
    const [other] = parsed(json.delta(deltaOf("b", { choice: 2 })));

    expect(first.choices[0]).toMatchObject({
      index: 3,
      text: "👩 Hé!",
      logprobs: {
        tokens: ["👩", " ", "Hé", "!"],
        token_logprobs: [null, -1, -0.5, -1],
        text_offset: [0, 1, 2, 4],
      },
    });
    expect(more.choices[0]).toMatchObject({ text: "a", logprobs: { text_offset: [2] } });
    expect(other.choices[0].text).toBe("👩 b");
  });

  it("say what was used so far if that is wanted", () => {
    const json = new StreamJson({
      ...chat,
      wish: { ...wish, includeUsage: true, continuousUsage: true },
    });
    json.began(0, prompt);
    json.began(1, prompt);
    json.delta(deltaOf("a", { outputTokens: 3 }));

    const [event] = parsed(json.delta(deltaOf("b", { choice: 1, outputTokens: 2 })));

    expect(event.usage).toEqual({ prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 });
  });

  it("hold token ids where those are wanted", () => {
    const json = new StreamJson({ ...generate, clientRequestId: "mine" });

    const events = parsed(
      json.delta(deltaOf("", { tokens: [1, 2], logprobs, finishReason: "length" })),
    );

    const head = { request_id: "mine", created: 5, model: "m" };
    expect(events).toEqual([
      {
        ...head,
        choices: [
          {
            index: 0,
            token_ids: [1, 2],
            logprobs: {
              content: [
                {
                  token: "token_id:72",
                  logprob: -0.5,
                  bytes: [72, 195, 169],
                  top_logprobs: [{ token: "token_id:120", logprob: -9999, bytes: [120] }],
                },
                { token: "token_id:33", logprob: -1, bytes: [33], top_logprobs: [] },
              ],
            },
            finish_reason: null,
          },
        ],
      },
      {
        ...head,
        choices: [{ index: 0, token_ids: [], logprobs: null, finish_reason: "length" }],
      },
    ]);
  });
});

describe("logprobs", () => {
  it("of a chat have bytes and alternatives, and a figure for minus infinity", () => {
    expect(JSON.parse(answerBody(chat, [answered], [], [summary])).choices[0].logprobs).toEqual({
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
    expect(
      JSON.parse(answerBody(completions, [answered], [], [summary])).choices[0].logprobs,
    ).toEqual({
      tokens: ["Hé", "!"],
      token_logprobs: [-0.5, -1],
      top_logprobs: [{ x: -9999, Hé: -0.5 }, { "!": -1 }],
      text_offset: [0, 2],
    });
  });

  it("of a prompt are by token id, the token's own among them", () => {
    const asking = { ...wish, includePromptLogprobs: true };
    const expected = [null, { "32": { logprob: -1, rank: 1, decoded_token: " " } }];

    const chatAnswer = JSON.parse(
      answerBody({ ...chat, wish: asking }, [answered], [prompt], [summary]),
    );
    const completion = JSON.parse(
      answerBody({ ...completions, wish: asking }, [answered], [prompt], [summary]),
    );

    expect(chatAnswer.prompt_logprobs).toEqual(expected);
    expect(completion.choices[0].prompt_logprobs).toEqual(expected);
  });
});

describe("an answer in one piece", () => {
  it("begins with the prompt in each of its choices if it is wanted back", () => {
    const frame = { ...completions, choicesPerPrompt: 2, wish: { ...wish, echo: true } };
    const choices = ["a", "b", "c", "d"].map((text) => ({ ...answered, text, logprobs: null }));
    const prompts = [prompt, { ...prompt, text: "Q: " }];

    const body = JSON.parse(answerBody(frame, choices, prompts, [summary, summary]));

    expect(body.choices.map((choice: { text: string }) => choice.text)).toEqual([
      "👩 a",
      "👩 b",
      "Q: c",
      "Q: d",
    ]);
    expect(body.usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 4 });
  });

  it("holds token ids where those are wanted", () => {
    const body = JSON.parse(answerBody(generate, [answered], [], [summary]));

    expect(body).toMatchObject({
      request_id: "r1",
      choices: [{ index: 0, token_ids: [72, 33], finish_reason: "stop" }],
      usage: { total_tokens: 9 },
    });
    expect(body.choices[0].text).toBeUndefined();
  });
});
