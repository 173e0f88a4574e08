import { describe, expect, it } from "vitest";
import { mockText } from "../src/mock-text.ts";

const h = "0a1b2c3d";

describe("mockText", () => {
  it("counts up behind the prompt's hash at temperature 0, whatever seed and choice", () => {
    const expected = [`${h}-0`, ` ${h}-1`, ` ${h}-2`];
    expect(mockText(h, 3)).toEqual(expected);
    expect(mockText(h, 3, { temperature: 0, seed: 9, choice: 4 })).toEqual(expected);
  });

  it("puts alternatives that carry the hash among the words above temperature 0", () => {
    const pieces = mockText(h, 400, { temperature: 1, seed: 5, choice: 0 });
    const own = pieces.filter((piece, i) => piece === `${i === 0 ? "" : " "}${h}-${i}`).length;

    expect(pieces.every((piece) => /^ ?0a1b2c3d(-|~)\d+$/.test(piece))).toBe(true);
    expect(own).toBeGreaterThan(240);
    expect(own).toBeLessThan(360);
  });

  it("repeats with a seed and differs without it", () => {
    const sampled = (seed: number) =>
      mockText(h, 50, { temperature: 0.8, seed, choice: 0 }).join("");
    expect(sampled(1)).toBe(sampled(1));
    expect(sampled(1)).not.toBe(sampled(2));
  });

  it("gives every choice a first word of its own above temperature 0", () => {
    for (let seed = 0; seed < 200; seed++) {
      const firsts = [1, 2, 3].map(
        (choice) => mockText(h, 1, { temperature: 1e-6, seed, choice })[0],
      );
      firsts.push(mockText(h, 1, { temperature: 1e-6, seed, choice: 0 })[0]);
      expect(new Set(firsts).size).toBe(4);
    }
  });

  it("goes on from any word as if it had begun at the first", () => {
    const sampling = { temperature: 0.7, seed: 3, choice: 1 };
    expect(mockText(h, 10, sampling, 5)).toEqual(mockText(h, 15, sampling).slice(5));
  });
});
