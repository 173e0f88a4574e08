import { describe, expect, it } from "vitest";
import { scanQwen35 } from "../../src/scan/scan-qwen35.ts";
import { cutWords } from "../support/cut-words.ts";
import { scannerContract } from "../support/scanner-contract.ts";

scannerContract("qwen-3.5", scanQwen35);

describe("marks", () => {
  it("are parts of words, with and without a letter before them", () => {
    expect(cutWords(scanQwen35, "हिन्दी e\u0301x \u0301 .\u0301")).toEqual([
      "हिन्दी",
      " e\u0301x",
      " \u0301",
      " .",
      "\u0301",
    ]);
  });
});

describe("contractions", () => {
  it("are cut off in the cases of ASCII alone", () => {
    expect(cutWords(scanQwen35, "it'S it'ſt")).toEqual(["it", "'S", " it", "'ſt"]);
  });
});
