import { describe, expect, it } from "vitest";
import { scanGpt2, scanSmolLm } from "../../src/scan/scan-gpt2.ts";
import { cutWords } from "../support/cut-words.ts";
import { scannerContract } from "../support/scanner-contract.ts";

scannerContract("gpt-2", scanGpt2);
scannerContract("smollm", scanSmolLm);

describe("white space", () => {
  it("keeps its last space for the word behind it", () => {
    expect(cutWords(scanGpt2, "a   b")).toEqual(["a", "  ", " b"]);
  });

  it("ends a piece before a number with SmolLM, but not with GPT-2", () => {
    expect(cutWords(scanGpt2, "a   12")).toEqual(["a", "  ", " 12"]);
    expect(cutWords(scanSmolLm, "a   12")).toEqual(["a", "   ", "1", "2"]);
  });
});
