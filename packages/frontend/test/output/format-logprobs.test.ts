import { describe, expect, it } from "vitest";
import { formatLogprobs } from "../../src/output/format-logprobs.ts";
import { fakeTextModel } from "../support/fake-text-model.ts";

describe("logprobs with their tokens as text", () => {
  it("show bytes that are no character as U+FFFD and keep the bytes", () => {
    expect(formatLogprobs(fakeTextModel, 0xc3, { chosen: -1, top: [[65, -2]] })).toEqual({
      token: "\ufffd",
      logprob: -1,
      bytes: [0xc3],
      top: [{ token: "A", logprob: -2, bytes: [65] }],
    });
  });
});
