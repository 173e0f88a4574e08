import type { Normalizer, PreTokenizer } from "../artifact/tokenizer-artifact.ts";
import { scannerMaker } from "../scan/make-scanner.ts";
import { familyOfRules, gpt2Pattern, type SplitRule } from "../scan/split-rules.ts";
import {
  arrayAt,
  idAt,
  isObject,
  type JsonObject,
  objectAt,
  refuse,
  stringAt,
} from "./json-fields.ts";

/** Reads `normalizer`: none, NFC, or a sequence of those. */
export function readNormalizer(value: unknown): Normalizer {
  if (value === null || value === undefined) {
    return "none";
  }
  const normalizer = objectAt(value, "normalizer");
  if (normalizer.type === "NFC") {
    return "nfc";
  }
  if (normalizer.type !== "Sequence") {
    refuse("normalizer.type", normalizer.type);
  }
  const steps = arrayAt(normalizer.normalizers, "normalizer.normalizers").map(readNormalizer);
  return steps.includes("nfc") ? "nfc" : "none";
}

/** Reads `pre_tokenizer`: ByteLevel at the end, Split and Digits before it. */
export function readPreTokenizer(value: unknown): PreTokenizer {
  const rules: SplitRule[] = [];
  const steps = flatten(objectAt(value, "pre_tokenizer"), "pretokenizers", "pre_tokenizer");
  const last = steps.at(-1);
  if (last?.type !== "ByteLevel") {
    refuse("pre_tokenizer.type", last?.type ?? null);
  }
  for (const [index, step] of steps.entries()) {
    rules.push(...readPreTokenizerStep(step, index === steps.length - 1));
  }
  const family = familyOfRules(rules);
  const preTokenizer: PreTokenizer =
    family === undefined ? { kind: "rules", rules } : { kind: "family", family };
  // Refused where the file is read, not where it is used.
  scannerMaker(preTokenizer);
  return preTokenizer;
}

function readPreTokenizerStep(step: JsonObject, isLast: boolean): readonly SplitRule[] {
  switch (step.type) {
    case "ByteLevel":
      if (!isLast) {
        refuse("pre_tokenizer.pretokenizers", step);
      }
      // The reference takes a missing flag of an old file as true.
      if (step.add_prefix_space !== false) {
        refuse("pre_tokenizer.add_prefix_space", step.add_prefix_space ?? null);
      }
      return step.use_regex === false ? [] : [{ kind: "pattern", source: gpt2Pattern }];
    case "Digits":
      return [{ kind: "digits", individual: step.individual_digits === true }];
    case "Split":
      if (step.behavior !== "Isolated") {
        refuse("pre_tokenizer.behavior", step.behavior);
      }
      return [{ kind: "pattern", source: readPattern(step.pattern) }];
    default:
      return refuse("pre_tokenizer.type", step.type);
  }
}

function readPattern(value: unknown): string {
  const pattern = objectAt(value, "pre_tokenizer.pattern");
  if (typeof pattern.String === "string") {
    return pattern.String.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  }
  return stringAt(pattern.Regex, "pre_tokenizer.pattern");
}

/** Checks `decoder`: the bytes of the tokens must be the text. */
export function checkDecoder(value: unknown): void {
  if (value === null || value === undefined) {
    refuse("decoder", null);
  }
  for (const step of flatten(objectAt(value, "decoder"), "decoders", "decoder")) {
    if (step.type !== "ByteLevel" && step.type !== "Fuse") {
      refuse("decoder.type", step.type);
    }
  }
}

/** What a post-processor puts around a text. */
export interface Surroundings {
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
}

/** Reads `post_processor`: none, ByteLevel (which changes no ids) or one template. */
export function readPostProcessor(value: unknown): Surroundings {
  let surroundings: Surroundings = { prefixIds: [], suffixIds: [] };
  if (value === null || value === undefined) {
    return surroundings;
  }
  for (const step of flatten(objectAt(value, "post_processor"), "processors", "post_processor")) {
    if (step.type === "TemplateProcessing") {
      surroundings = readTemplateProcessing(step);
    } else if (step.type !== "ByteLevel") {
      refuse("post_processor.type", step.type);
    }
  }
  return surroundings;
}

function readTemplateProcessing(step: JsonObject): Surroundings {
  const specials = objectAt(step.special_tokens, "post_processor.special_tokens");
  const prefixIds: number[] = [];
  const suffixIds: number[] = [];
  let target = prefixIds;
  for (const entry of arrayAt(step.single, "post_processor.single")) {
    const piece = objectAt(entry, "post_processor.single");
    if (isObject(piece.SpecialToken)) {
      const special = objectAt(
        specials[stringAt(piece.SpecialToken.id, "post_processor.single")],
        "post_processor.special_tokens",
      );
      const ids = arrayAt(special.ids, "post_processor.special_tokens");
      target.push(...ids.map((id) => idAt(id, "post_processor.special_tokens")));
    } else {
      target = suffixIds;
    }
  }
  return { prefixIds, suffixIds };
}

function flatten(step: JsonObject, key: string, field: string): readonly JsonObject[] {
  if (step.type !== "Sequence") {
    return [step];
  }
  return arrayAt(step[key], `${field}.${key}`).flatMap((inner) =>
    flatten(objectAt(inner, `${field}.${key}`), key, field),
  );
}
