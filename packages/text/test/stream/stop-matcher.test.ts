import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StopMatcher } from "../../src/index.ts";

interface Outcome {
  readonly text: string;
  readonly matched: string | undefined;
}

function run(stops: readonly string[], pieces: readonly string[]): Outcome {
  const matcher = new StopMatcher(stops);
  let text = "";
  for (const piece of pieces) {
    const { emit, matched } = matcher.feed(piece);
    text += emit;
    if (matched !== undefined) {
      return { text, matched };
    }
  }
  return { text: text + matcher.flush(), matched: undefined };
}

/** The definition: the stop whose end comes first, of several that end there the longest. */
function define(stops: readonly string[], text: string): Outcome {
  for (let end = 1; end <= text.length; end += 1) {
    const matched = stops
      .filter((stop) => stop !== "" && text.slice(0, end).endsWith(stop))
      .toSorted((left, right) => right.length - left.length)[0];
    if (matched !== undefined) {
      return { text: text.slice(0, end - matched.length), matched };
    }
  }
  return { text, matched: undefined };
}

const letters = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), maxLength: 4 });

describe("a stop matcher", () => {
  it("finds the same in pieces as in the whole text", () => {
    fc.assert(
      fc.property(
        fc.array(letters, { maxLength: 5 }),
        fc.array(letters, { maxLength: 20 }),
        (stops, pieces) => {
          expect(run(stops, pieces)).toEqual(define(stops, pieces.join("")));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("holds back no more than may begin a stop", () => {
    const matcher = new StopMatcher(["STOP"]);
    expect(matcher.feed("a ST")).toEqual({ emit: "a " });
    expect(matcher.feed("A ")).toEqual({ emit: "STA " });
    expect(matcher.feed("SSTO")).toEqual({ emit: "S" });
    expect(matcher.feed("P and more")).toEqual({ emit: "", matched: "STOP" });
  });

  it("gives what is held back at the end", () => {
    const matcher = new StopMatcher(["</answer>"]);
    expect(matcher.feed("yes</ans")).toEqual({ emit: "yes" });
    expect(matcher.flush()).toBe("</ans");
    expect(matcher.flush()).toBe("");
  });

  it("emits nothing after a match", () => {
    const matcher = new StopMatcher(["."]);
    expect(matcher.feed("One. Two.")).toEqual({ emit: "One", matched: "." });
    expect(matcher.feed(" Three.")).toEqual({ emit: "" });
    expect(matcher.flush()).toBe("");
  });

  it("takes the longest of the stops that end at the same place", () => {
    expect(run(["b", "ab"], ["xab"])).toEqual({ text: "x", matched: "ab" });
    expect(run(["abc", "b"], ["abc"])).toEqual({ text: "a", matched: "b" });
  });

  it("ignores empty stops", () => {
    expect(run(["", "x"], ["abc"])).toEqual({ text: "abc", matched: undefined });
    expect(run([], ["abc"])).toEqual({ text: "abc", matched: undefined });
  });
});
