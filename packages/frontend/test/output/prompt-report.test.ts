import { requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { promptReport } from "../../src/output/prompt-report.ts";
import type { Prompt, ServingRequest } from "../../src/request/serving-request.ts";
import { fakeTextModel, tokensOf } from "../support/fake-text-model.ts";

function report(prompt: Prompt, changes: Partial<ServingRequest> = {}, logprobs: number[] = []) {
  const tokens = prompt.kind === "text" ? tokensOf(prompt.text) : [];
  return promptReport({
    request: {
      requestId: requestId("r1"),
      model: "m",
      prompt,
      output: { maxTokens: 1, n: 1 },
      stop: [],
      clientRequestId: null,
      traceparent: null,
      ...changes,
    },
    text: fakeTextModel,
    promptTokens: 5,
    tokens: prompt.kind === "tokens" ? prompt.tokens : Uint32Array.from(tokens),
    logprobs: logprobs.map((chosen) => ({ chosen, top: [[65, -1] as const] })),
  });
}

const returns = { promptText: true, tokens: false };
const output = { maxTokens: 1, n: 1, promptLogprobs: 1 };

describe("what is told of a prompt", () => {
  it("is its length where nothing was asked for", () => {
    expect(report({ kind: "text", text: "Hi" })).toEqual({
      promptTokens: 5,
      text: null,
      logprobs: null,
    });
  });

  it("is its text as it was, or as its tokens read", () => {
    const half = report({ kind: "text", text: "a\ud83d" }, { returns });
    const tokens = report(
      { kind: "tokens", tokens: Uint32Array.of(72, 0xc3, 0xa9, 0xc3) },
      { returns },
    );

    expect(half.text).toBe("a\ufffd");
    expect(tokens.text).toBe("Hé\ufffd");
  });

  it("is each token's logprob where it begins, but for the first", () => {
    const { logprobs } = report({ kind: "text", text: "éa" }, { output }, [-1, -2]);

    expect(logprobs).toMatchObject([
      { id: 0xc3, logprob: null, top: [], textOffset: 0 },
      { id: 0xa9, logprob: -1, top: [{ token: "A" }], textOffset: 0 },
      { id: 97, token: "a", logprob: -2, textOffset: 1 },
    ]);
  });

  it("is an error of the engine's if it did not give what was asked for", () => {
    expect(() => report({ kind: "text", text: "abc" }, { output }, [-1])).toThrow(
      expect.objectContaining({ code: "engine_protocol" }),
    );
  });
});
