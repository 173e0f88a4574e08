import { expect, it } from "vitest";
import { workerId } from "../../src/index.ts";
import { type FrameEntry, TokenFrame } from "../../src/messages/token-frame-v1.ts";

const entry: FrameEntry = {
  stream: 3,
  choice: 0,
  offset: 0,
  tokens: [9],
  logprobs: null,
  end: null,
};
const ended: FrameEntry["end"] = { reason: "length", error: null, cachedTokens: 2 };
const prompt = [null, { chosen: -0.5, top: [[7, -0.25] as const] }];

it.each<[string, FrameEntry]>([
  ["alone", { ...entry, promptLogprobs: prompt }],
  ["beside the output's own", { ...entry, logprobs: [prompt[1] ?? null], promptLogprobs: prompt }],
  ["with the end of the choice", { ...entry, end: ended, promptLogprobs: prompt }],
  ["of a prompt of one token", { ...entry, promptLogprobs: [] }],
  ["and how much of it was cached", { ...entry, promptLogprobs: prompt, cachedTokens: 64 }],
])("carries the log-probabilities of a prompt %s", (_how, wanted) => {
  const frame = {
    workerId: workerId("w1"),
    generation: 1,
    frontendGeneration: 2,
    sequence: 0,
    entries: [wanted, entry],
  };

  expect(TokenFrame.decode(TokenFrame.encode(frame))).toEqual(frame);
});

it.each<[string, FrameEntry]>([
  ["alone", { ...entry, cachedTokens: 64 }],
  ["with the end of the choice", { ...entry, end: ended, cachedTokens: 2 }],
])("carries how much of a prompt was cached %s", (_how, wanted) => {
  const frame = {
    workerId: workerId("w1"),
    generation: 1,
    frontendGeneration: 2,
    sequence: 0,
    entries: [wanted, entry],
  };

  expect(TokenFrame.decode(TokenFrame.encode(frame))).toEqual(frame);
});
