import { describe, expect, it } from "vitest";
import { scanGpt4o, scanO200k, scanTekken } from "../../src/scan/scan-o200k.ts";
import { cutWords } from "../support/cut-words.ts";
import { scannerContract } from "../support/scanner-contract.ts";

scannerContract("o200k", scanO200k);
scannerContract("gpt-4o", scanGpt4o);
scannerContract("tekken", scanTekken);

describe("letters", () => {
  it("are cut where upper case follows lower case", () => {
    expect(cutWords(scanO200k, "helloWorld HTTPServer")).toEqual(["hello", "World", " HTTPServer"]);
  });

  it("give upper case back behind a letter without case", () => {
    expect(cutWords(scanO200k, "あA")).toEqual(["あ", "A"]);
  });

  it("take a contraction along", () => {
    expect(cutWords(scanO200k, "don't")).toEqual(["don't"]);
  });
});

describe("letters where only ASCII has case", () => {
  it("are cut at A to Z behind others, and marks are none", () => {
    expect(cutWords(scanGpt4o, "helloWorld éÀb e\u0301x I'LL it'ſ")).toEqual([
      "hello",
      "World",
      " éÀb",
      " e",
      "\u0301x",
      " I'LL",
      " it",
      "'ſ",
    ]);
    expect(cutWords(scanTekken, "I'LL 123")).toEqual(["I", "'LL", " ", "1", "2", "3"]);
  });
});
