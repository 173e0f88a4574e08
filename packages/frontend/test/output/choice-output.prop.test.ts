import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChoiceOutput } from "../../src/output/choice-output.ts";
import { fakeTextModel } from "../support/fake-text-model.ts";

interface Run {
  readonly tokens: readonly number[];
  readonly stop: readonly string[];
  /** Where frames end, and after which of them text is taken. */
  readonly cuts: readonly number[];
  readonly takes: readonly boolean[];
}

const run: fc.Arbitrary<Run> = fc.record({
  tokens: fc.array(fc.oneof(fc.constantFrom(97, 98, 99), fc.integer({ min: 0, max: 255 })), {
    maxLength: 40,
  }),
  stop: fc.array(fc.stringMatching(/^[abc]{1,3}$/), { maxLength: 3 }),
  cuts: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 10 }),
  takes: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
});

/** Everything a client of the stream gets, joined, and what is counted. */
function answer({ tokens, stop, cuts, takes }: Run) {
  const choice = new ChoiceOutput(0, fakeTextModel, {
    stop,
    stopTokenIds: [],
    logprobs: false,
    tokens: false,
  });
  const bounds = [...new Set([0, ...cuts.filter((cut) => cut < tokens.length), tokens.length])];
  bounds.sort((left, right) => left - right);
  let text = "";
  let reason: string | null = null;
  const take = () => {
    const delta = choice.take();
    text += delta?.text ?? "";
    reason = delta?.finishReason ?? reason;
  };
  for (let at = 0; at + 1 < bounds.length; at += 1) {
    const [from = 0, to = 0] = [bounds[at], bounds[at + 1]];
    const entry = { stream: 1, choice: 0, offset: from, logprobs: null, end: null };
    choice.accept({ ...entry, tokens: tokens.slice(from, to) });
    if (takes[at]) take();
  }
  const end = { reason: "length", error: null, cachedTokens: 0 } as const;
  const last = { stream: 1, choice: 0, offset: tokens.length, tokens: [], logprobs: null, end };
  choice.accept(last);
  take();
  return { text, reason, counted: choice.returnedTokens };
}

describe("streamed text", () => {
  it("is the text in one piece, however it is cut", () => {
    fc.assert(
      fc.property(run, (one) => {
        expect(answer(one)).toEqual(
          answer({ ...one, cuts: [], takes: one.takes.map(() => false) }),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("holds no stop text", () => {
    fc.assert(
      fc.property(run, (one) => {
        const { text } = answer(one);
        for (const stop of one.stop) expect(text.includes(stop)).toBe(false);
      }),
    );
  });
});
