import type { PreTokenizer } from "../artifact/tokenizer-artifact.ts";
import { compileRules, makeRuleScanner } from "./rule-scanner.ts";
import { scanGpt2, scanSmolLm } from "./scan-gpt2.ts";
import { scanLlama3, scanQwen2 } from "./scan-llama3.ts";
import { scanGpt4o, scanO200k, scanTekken } from "./scan-o200k.ts";
import { scanQwen35 } from "./scan-qwen35.ts";
import type { WordScanner } from "./scan-runs.ts";
import type { PreTokenizerFamily } from "./split-rules.ts";

const scanners: Readonly<Record<PreTokenizerFamily, WordScanner>> = {
  "gpt-2": scanGpt2,
  smollm: scanSmolLm,
  "llama-3": scanLlama3,
  "qwen-2": scanQwen2,
  o200k: scanO200k,
  "gpt-4o": scanGpt4o,
  tekken: scanTekken,
  "qwen-3.5": scanQwen35,
};

/** A function that makes a scanner for one text. Throws `TokenizerFormatError` if the rules cannot be translated. */
export function scannerMaker(preTokenizer: PreTokenizer): () => WordScanner {
  if (preTokenizer.kind === "family") {
    const scanner = scanners[preTokenizer.family];
    return () => scanner;
  }
  const rules = compileRules(preTokenizer.rules);
  return () => makeRuleScanner(rules);
}
