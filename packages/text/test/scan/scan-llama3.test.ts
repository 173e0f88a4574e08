import { describe, expect, it } from "vitest";
import { scanLlama3, scanQwen2 } from "../../src/scan/scan-llama3.ts";
import { cutWords } from "../support/cut-words.ts";
import { scannerContract } from "../support/scanner-contract.ts";

scannerContract("llama-3", scanLlama3);
scannerContract("qwen-2", scanQwen2);

describe("numbers", () => {
  it("stand in threes with Llama 3 and alone with Qwen", () => {
    expect(cutWords(scanLlama3, "12345 6")).toEqual(["123", "45", " ", "6"]);
    expect(cutWords(scanQwen2, "12 3")).toEqual(["1", "2", " ", "3"]);
  });
});

describe("contractions", () => {
  it("are cut off in any case, a long s included", () => {
    expect(cutWords(scanLlama3, "it'S it'ſ")).toEqual(["it", "'S", " it", "'ſ"]);
  });
});
