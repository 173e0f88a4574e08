import { expect, it } from "vitest";
import { mockText } from "../src/mock-text.ts";
import { TextPlan } from "../src/text-plan.ts";

/** One token a character. */
const encode = (piece: string): number[] => Array.from(piece, (char) => char.charCodeAt(0));

it("gives the tokens of the mock text one after the other", () => {
  const plan = new TextPlan({ promptHashHex: "abcd0123", encode });
  const text = mockText("abcd0123", 20).join("");

  const tokens = Array.from(text, (_, index) => plan.next(index));

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
