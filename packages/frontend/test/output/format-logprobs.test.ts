import { describe, expect, it } from "vitest";
import {
  codePointCount,
  formatLogprobs,
  formatPromptLogprobs,
  KnownTokens,
  tokenForms,
} from "../../src/output/format-logprobs.ts";
import { fakeTextModel } from "../support/fake-text-model.ts";

const token = { id: 0xc3, textOffset: 7 };

describe("logprobs with their tokens as text", () => {
  it("show bytes that are no character as U+FFFD and keep the bytes", () => {
    expect(
      formatLogprobs(tokenForms(fakeTextModel), token, { chosen: -1, top: [[65, -2]] }),
    ).toEqual({
      id: 0xc3,
      token: "\ufffd",
      logprob: -1,
      bytes: [0xc3],
      top: [{ id: 65, token: "A", logprob: -2, bytes: [65] }],
      textOffset: 7,
    });
  });

  it("are unknown for a prompt's first token", () => {
    expect(formatPromptLogprobs(new KnownTokens(fakeTextModel), token, null)).toEqual({
      id: 0xc3,
      token: "\ufffd",
      logprob: null,
      bytes: [0xc3],
      top: [],
      textOffset: 7,
    });
  });
});

it("counts code points, and half a surrogate pair as one", () => {
  expect(["", "aé€", "😀👩‍💻", "\ud83d", "\ude00\ud83d"].map(codePointCount)).toEqual([
    0, 3, 4, 1, 2,
  ]);
});
