import { expect, it } from "vitest";
import { mockText } from "../src/mock-text.ts";
import { TextPlan } from "../src/text-plan.ts";

/** One token a character. */
const encode = (piece: string): number[] => Array.from(piece, (char) => char.charCodeAt(0));

it("gives the tokens of the mock text one after the other", () => {
  const plan = new TextPlan({ promptHashHex: "abcd0123", encode });
  const text = mockText("abcd0123", 20).join("");

  const tokens = Array.from(text, (_, index) => plan.next(index) ?? 0);

  expect(String.fromCharCode(...tokens)).toBe(text);
});

it("may begin in the middle, as a decode worker does", () => {
  const sampling = { temperature: 0.9, seed: 11, choice: 2 };
  const options = { promptHashHex: "abcd0123", sampling, encode };
  const whole = new TextPlan(options);
  const rest = new TextPlan(options);
  const expected = Array.from({ length: 300 }, (_, index) => whole.next(index));

  expect(Array.from({ length: 299 }, (_, i) => rest.next(i + 1))).toEqual(expected.slice(1));
  expect(rest.next(0)).toBe(expected[0]);
});

it("refuses a tokenizer that gives nothing, rather than ask it for ever", () => {
  const plan = new TextPlan({ promptHashHex: "abcd0123", encode: () => [] });
  expect(() => plan.next(0)).toThrow("no token");
});

it("ends after the last piece of another text, with the token for that", () => {
  const pieceAt = (index: number) => ["ab", "c"][index];
  const all = (endToken?: number) => {
    const plan = new TextPlan({ promptHashHex: "abcd0123", encode, pieceAt, endToken });
    return [0, 1, 2, 3, 4].map((index) => plan.next(index));
  };

  expect(all(7)).toEqual([97, 98, 99, 7, undefined]);
  expect(all()).toEqual([97, 98, 99, undefined, undefined]);
});
