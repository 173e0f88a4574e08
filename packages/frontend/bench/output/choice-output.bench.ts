import { bench, describe } from "vitest";
import { ChoiceOutput } from "../../src/output/choice-output.ts";
import { fakeTextModel } from "../../test/support/fake-text-model.ts";

const options = { stop: [], stopTokenIds: [], tokens: false, logprobs: false };

describe("1,000 tokens of one choice, one a frame", () => {
  for (const stop of [[], ["</end>"]]) {
    bench(stop.length === 0 ? "plain" : "with a stop text", () => {
      const choice = new ChoiceOutput(0, fakeTextModel, { ...options, stop });
      for (let offset = 0; offset < 1_000; offset += 1) {
        choice.accept({ stream: 1, choice: 0, offset, tokens: [97], logprobs: null, end: null });
        choice.take();
      }
    });
  }
});
