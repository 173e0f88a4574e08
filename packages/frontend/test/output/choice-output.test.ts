import type { FrameEntry } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { ChoiceOutput } from "../../src/output/choice-output.ts";
import { endToken, fakeTextModel, tokensOf } from "../support/fake-text-model.ts";

function output(changes: Partial<ConstructorParameters<typeof ChoiceOutput>[2]> = {}) {
  const options = { stop: [], stopTokenIds: [], logprobs: false, tokens: false, ...changes };
  return new ChoiceOutput(0, fakeTextModel, options);
}

function entry(tokens: readonly number[], offset = 0, changes: Partial<FrameEntry> = {}) {
  return { stream: 1, choice: 0, offset, tokens, logprobs: null, end: null, ...changes };
}

const stopEnd = { reason: "stop", error: null, cachedTokens: 0 } as const;
const lengthEnd = { reason: "length", error: null, cachedTokens: 0 } as const;

describe("the output of a choice", () => {
  it("holds back half a character, and says it when it is whole", () => {
    const choice = output();
    const [first = 0, second = 0] = tokensOf("é");

    choice.accept(entry([first]));
    expect(choice.take()?.text).toBe("");
    choice.accept(entry([second], 1));

    expect(choice.take()?.text).toBe("é");
  });

  it("says half a character as U+FFFD at the end", () => {
    const choice = output();

    choice.accept(entry([65, 0xc3], 0, { end: lengthEnd }));

    expect(choice.take()).toMatchObject({ text: "A\ufffd", finishReason: "length" });
  });

  it("holds back what may become a stop text, and says it at the end if it does not", () => {
    const choice = output({ stop: ["END"] });

    choice.accept(entry(tokensOf("the EN")));
    expect(choice.take()?.text).toBe("the ");
    choice.accept(entry([], 6, { end: lengthEnd }));

    expect(choice.take()).toMatchObject({ text: "EN", finishReason: "length" });
  });

  it("ends at a stop text and takes nothing after it", () => {
    const choice = output({ stop: ["END"] });

    choice.accept(entry(tokensOf("it ENDs here")));

    expect(choice.take()).toMatchObject({ text: "it ", finishReason: "stop" });
    expect(choice.closedBy).toBe("stop-text");
    expect(choice.returnedTokens).toBe(6);
    expect(choice.accept(entry([65], 12))).toBe("repeated");
    expect(choice.accept(entry([66], 13))).toBe("repeated");
    expect(choice.take()).toBeNull();
  });

  it("counts the token that ended the generation and does not show it", () => {
    const choice = output({ stopTokenIds: [66] });
    choice.accept(entry([65, 66], 0, { end: stopEnd }));
    const other = output();
    other.accept(entry([65, endToken], 0, { end: stopEnd }));

    expect(choice.take()?.text).toBe("A");
    expect(choice.returnedTokens).toBe(2);
    expect(other.take()?.text).toBe("A");
  });

  it("does not show it either where the end is told later, and shows it where others follow", () => {
    const logprobs = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ chosen: -1 - at, top: [] }));
    const ended = output({ stopTokenIds: [66], logprobs: true });
    ended.accept(entry([65, 66], 0, { logprobs: logprobs(2) }));
    const first = ended.take();
    const between = ended.take();
    ended.accept(entry([], 2, { end: stopEnd }));
    const last = ended.take();
    const others = output({ stopTokenIds: [66], logprobs: true });
    others.accept(entry([66], 0, { logprobs: logprobs(1) }));
    const nothing = others.take();
    others.accept(entry([67], 1, { logprobs: logprobs(1), end: lengthEnd }));

    expect([first?.text, first?.outputTokens, first?.logprobs?.length]).toEqual(["A", 1, 1]);
    expect(between).toBeNull();
    expect(last).toMatchObject({ text: "", outputTokens: 2, logprobs: [], finishReason: "stop" });
    expect(nothing).toBeNull();
    expect(others.take()).toMatchObject({ text: "BC", outputTokens: 2 });
  });

  it("shows a stop token that did not end it", () => {
    const choice = output({ stopTokenIds: [66] });

    choice.accept(entry([65, 66], 0, { end: lengthEnd }));

    expect(choice.take()?.text).toBe("AB");
  });

  it("takes the new part of a repeat only, and sees a gap", () => {
    const choice = output();

    expect(choice.accept(entry(tokensOf("abc")))).toBe("taken");
    expect(choice.accept(entry(tokensOf("bcd"), 1))).toBe("taken");
    expect(choice.accept(entry(tokensOf("cd"), 2))).toBe("repeated");
    expect(choice.accept(entry(tokensOf("x"), 5))).toBe("gap");

    expect(choice.take()?.text).toBe("abcd");
  });

  it("gives each token its own logprobs, with bytes, as it comes", () => {
    const choice = output({ logprobs: true, stop: ["zz"] });
    const [first = 0] = tokensOf("é");

    const logprobs = [
      { chosen: -0.5, top: [[65, -0.5] as const, [first, -1] as const] },
      { chosen: -2, top: [] },
    ];
    choice.accept(entry([65, first], 0, { logprobs }));

    expect(choice.take()?.logprobs).toEqual([
      {
        id: 65,
        textOffset: 0,
        token: "A",
        logprob: -0.5,
        bytes: [65],
        top: [
          { id: 65, token: "A", logprob: -0.5, bytes: [65] },
          { id: first, token: "\ufffd", logprob: -1, bytes: [first] },
        ],
      },
      { id: first, textOffset: 1, token: "\ufffd", logprob: -2, bytes: [first], top: [] },
    ]);
  });

  it("gives out the ids and logprobs of all that it counts, if they are wanted", () => {
    const logprobs = [65, 66, endToken].map((_, at) => ({ chosen: -at, top: [] }));
    const choice = output({ tokens: true, logprobs: true });

    choice.accept(entry([65], 0, { logprobs: logprobs.slice(0, 1) }));
    const first = choice.take();
    choice.accept(entry([66, endToken], 1, { logprobs: logprobs.slice(1), end: stopEnd }));
    const last = choice.take();

    expect(first).toMatchObject({ text: "A", tokens: [65], outputTokens: 1 });
    expect(last).toMatchObject({ text: "B", tokens: [66, endToken], outputTokens: 3 });
    expect(last?.logprobs?.map(({ id, logprob }) => [id, logprob])).toEqual([
      [66, -1],
      [endToken, -2],
    ]);
  });

  it("counts and gives out nothing behind a stop text, however its tokens come", () => {
    const choice = output({ tokens: true, stop: ["B"] });

    choice.accept(entry([65, 66, 67, endToken], 0, { end: stopEnd }));

    expect(choice.take()).toMatchObject({ text: "A", tokens: [65, 66], outputTokens: 2 });
  });
});
