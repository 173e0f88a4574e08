import { describe, expect, it } from "vitest";
import { endOfGenerationIds } from "../../src/artifact/end-of-generation.ts";

describe("endOfGenerationIds", () => {
  it("joins what the files name with what special tokens say, ascending and once each", () => {
    const specials = [
      { id: 0, content: "<|endoftext|>" },
      { id: 1, content: "<|im_start|>" },
      { id: 2, content: "<|im_end|>" },
    ];
    expect(endOfGenerationIds([2, null, 7], specials)).toEqual([0, 2, 7]);
  });

  it("does not end at a message's end in the Harmony format", () => {
    const harmony = [
      { id: 5, content: "<|end|>" },
      { id: 6, content: "<|return|>" },
      { id: 7, content: "<|call|>" },
    ];
    expect(endOfGenerationIds([6], harmony)).toEqual([6, 7]);
    expect(endOfGenerationIds([], harmony.slice(0, 1))).toEqual([5]);
  });
});
