import type { FrameEntry } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { RequestOutput } from "../../src/output/request-output.ts";
import { fakeTextModel, tokensOf } from "../support/fake-text-model.ts";

function entry(choice: number, text: string, isLast = false): FrameEntry {
  const end = isLast ? ({ reason: "stop", error: null, cachedTokens: 0 } as const) : null;
  return { stream: 1, choice, offset: 0, tokens: tokensOf(text), logprobs: null, end };
}

function output(stop: readonly string[] = []): RequestOutput {
  return new RequestOutput(fakeTextModel, 2, {
    stop,
    stopTokenIds: [],
    logprobs: false,
    tokens: false,
  });
}

describe("the output of a request", () => {
  it("gives each choice its own text, in order of choice", () => {
    const both = output();
    both.accept(entry(1, "b"));
    both.accept(entry(0, "a"));

    expect(both.take().map(({ choice, text }) => [choice, text])).toEqual([
      [0, "a"],
      [1, "b"],
    ]);
    expect(both.take()).toEqual([]);
    expect(both.returnedTokens).toBe(2);
  });

  it("is closed when the last choice is, and cut short if a stop text closed one", () => {
    const both = output(["!"]);
    both.accept(entry(0, "a!", false));
    both.take();
    expect(both.isClosed).toBe(false);

    both.accept(entry(1, "b", true));
    both.take();

    expect(both.isClosed).toBe(true);
    expect(both.isCutShort).toBe(true);
  });

  it("takes nothing for a choice that there is not", () => {
    const both = output();

    expect(both.accept(entry(2, "x"))).toBe("repeated");
    expect(both.take()).toEqual([]);
  });
});
