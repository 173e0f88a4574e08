/** One step that cuts every piece of text into smaller ones. */
export type SplitRule =
  /** What matches becomes a piece, and so does what lies between matches. The pattern is of the tokenizer's dialect. */
  | { readonly kind: "pattern"; readonly source: string }
  /** Numbers (category N) apart from the rest; each number character alone if `individual`. */
  | { readonly kind: "digits"; readonly individual: boolean };

/** The pre-tokenizers that are known by name. */
export type PreTokenizerFamily =
  | "gpt-2"
  | "smollm"
  | "llama-3"
  | "qwen-2"
  | "o200k"
  // As llama.cpp writes them: only ASCII has case.
  | "gpt-4o"
  | "tekken"
  | "qwen-3.5";

const contractions = "'s|'t|'re|'ve|'m|'ll|'d";
const symbolsAndWhiteSpace = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

function llamaPattern(numbers: string): string {
  return `(?i:${contractions})|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${symbolsAndWhiteSpace}`;
}

function o200kPattern(): string {
  const upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
  const lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
  const prefix = "[^\\r\\n\\p{L}\\p{N}]?";
  const suffix = `(?i:${contractions})?`;
  return `${prefix}${upper}*${lower}+${suffix}|${prefix}${upper}+${lower}*${suffix}|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${symbolsAndWhiteSpace}`;
}

/** Contractions in both cases of ASCII. */
const asciiContractions = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";

function asciiCasePattern(suffix: string, numbers: string): string {
  const upper = "(?:(?=\\p{L})[^a-z])";
  const lower = "(?:(?=\\p{L})[^A-Z])";
  const prefix = "[^\\r\\n\\p{L}\\p{N}]?";
  return `${prefix}${upper}*${lower}+${suffix}|${prefix}${upper}+${lower}*${suffix}|${numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${symbolsAndWhiteSpace}`;
}

const qwen35Pattern = `(?:${asciiContractions})|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${symbolsAndWhiteSpace}`;

/** The pattern of GPT-2, which a `ByteLevel` pre-tokenizer applies by itself. */
export const gpt2Pattern: string = `${contractions}| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`;

/** The rules of DeepSeek V3 and R1, which have no scanner. */
export const deepSeekV3Rules: readonly SplitRule[] = [
  { kind: "pattern", source: "\\p{N}{1,3}" },
  { kind: "pattern", source: "[一-龥぀-ゟ゠-ヿ]+" },
  {
    kind: "pattern",
    source:
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
  },
];

const rulesOfFamilies: Readonly<Record<PreTokenizerFamily, readonly SplitRule[]>> = {
  "gpt-2": [{ kind: "pattern", source: gpt2Pattern }],
  smollm: [
    { kind: "digits", individual: true },
    { kind: "pattern", source: gpt2Pattern },
  ],
  "llama-3": [{ kind: "pattern", source: llamaPattern("\\p{N}{1,3}") }],
  "qwen-2": [{ kind: "pattern", source: llamaPattern("\\p{N}") }],
  o200k: [{ kind: "pattern", source: o200kPattern() }],
  "gpt-4o": [
    { kind: "pattern", source: asciiCasePattern(`(?:${asciiContractions})?`, "\\p{N}{1,3}") },
  ],
  tekken: [{ kind: "pattern", source: asciiCasePattern("", "\\p{N}") }],
  "qwen-3.5": [{ kind: "pattern", source: qwen35Pattern }],
};

/** Every family. */
export const preTokenizerFamilies: readonly PreTokenizerFamily[] = Object.keys(
  rulesOfFamilies,
) as PreTokenizerFamily[];

/** The rules that define a family. */
export function splitRulesOf(family: PreTokenizerFamily): readonly SplitRule[] {
  return rulesOfFamilies[family];
}

/** Whether a value is the name of a family. */
export function isPreTokenizerFamily(value: unknown): value is PreTokenizerFamily {
  return typeof value === "string" && Object.hasOwn(rulesOfFamilies, value);
}

/** The family that is defined by exactly these rules; undefined if there is none. */
export function familyOfRules(rules: readonly SplitRule[]): PreTokenizerFamily | undefined {
  const wanted = JSON.stringify(rules.map(ruleKey));
  return preTokenizerFamilies.find(
    (family) => JSON.stringify(rulesOfFamilies[family].map(ruleKey)) === wanted,
  );
}

function ruleKey(rule: SplitRule): readonly unknown[] {
  return rule.kind === "pattern" ? [rule.kind, rule.source] : [rule.kind, rule.individual];
}
