import { describe, expect, it } from "vitest";
import { scanO200k } from "../../src/scan/scan-o200k.ts";
import { cutWords } from "../support/cut-words.ts";
import { scannerContract } from "../support/scanner-contract.ts";

scannerContract("o200k", scanO200k);

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
