import { bytesOfTokenText } from "../artifact/byte-alphabet.ts";
import { layOutTokens } from "../artifact/token-list.ts";
import type { AddedToken, TokenizerArtifact } from "../artifact/tokenizer-artifact.ts";
import { encodeUtf8 } from "../artifact/utf8.ts";
import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import {
  arrayAt,
  expectNeutral,
  idAt,
  type JsonObject,
  objectAt,
  refuse,
  stringAt,
} from "./json-fields.ts";

/** The part of an artifact that comes from `model` and `added_tokens`. */
export type BpeModelFields = Pick<
  TokenizerArtifact,
  "tokenBytes" | "tokenOffsets" | "merges" | "ignoreMerges" | "addedTokens"
>;

/** Reads `model` and `added_tokens` of a tokenizer.json. Throws `TokenizerFormatError` naming what is not supported. */
export function readBpeModel(root: JsonObject): BpeModelFields {
  const model = objectAt(root.model, "model");
  checkModel(model);
  const vocabulary = readVocabulary(model);
  const addedTokens = readAddedTokens(root);
  const tokens: Uint8Array[] = [];
  let size = 0;
  for (const [text, id] of vocabulary) {
    tokens[id] = tokenBytes(text);
    size = Math.max(size, id + 1);
  }
  for (const [index, { id, content }] of addedTokens.entries()) {
    checkAddedId(index, id, vocabulary.get(content), tokens[id]);
    tokens[id] = tokenBytes(content);
    size = Math.max(size, id + 1);
  }
  checkUnknown(model, tokens);
  return {
    ...layOutTokens(tokens, size),
    merges: readMerges(model, vocabulary),
    ignoreMerges: model.ignore_merges === true,
    addedTokens,
  };
}

function checkModel(model: JsonObject): void {
  // Old files leave the type out; only BPE has merges.
  if (model.type !== "BPE" && !(model.type === undefined && Array.isArray(model.merges))) {
    refuse("model.type", model.type);
  }
  expectNeutral(model, "model", "dropout", [0]);
  expectNeutral(model, "model", "continuing_subword_prefix", [""]);
  expectNeutral(model, "model", "end_of_word_suffix", [""]);
  expectNeutral(model, "model", "byte_fallback", [false]);
}

function readVocabulary(model: JsonObject): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(objectAt(model.vocab, "model.vocab")).map(([text, id]) => [
      text,
      idAt(id, `model.vocab[${JSON.stringify(text)}]`),
    ]),
  );
}

/** An added token that the vocabulary has too must have the same id there; one that it has not must have an id of its own. */
function checkAddedId(
  index: number,
  id: number,
  idInVocabulary: number | undefined,
  taken: Uint8Array | undefined,
): void {
  if (idInVocabulary === undefined ? taken !== undefined : idInVocabulary !== id) {
    throw new TokenizerFormatError(`added_tokens[${index}].id`, `${id} contradicts model.vocab`);
  }
}

/** The decoder of the reference reads every token in the byte alphabet if it can, added ones too. */
function tokenBytes(text: string): Uint8Array {
  return bytesOfTokenText(text) ?? encodeUtf8(text);
}

/** An unknown token would stand for bytes that are no tokens: harmless only if all bytes are. */
function checkUnknown(model: JsonObject, tokens: readonly Uint8Array[]): void {
  if (model.unk_token === undefined || model.unk_token === null) {
    return;
  }
  const bytes = new Set<number>();
  for (const token of tokens) {
    if (token?.length === 1) {
      bytes.add(token[0]!);
    }
  }
  if (bytes.size < 256) {
    refuse("model.unk_token", model.unk_token);
  }
}

function readMerges(model: JsonObject, vocabulary: ReadonlyMap<string, number>): Uint32Array {
  const list = arrayAt(model.merges, "model.merges");
  const merges = new Uint32Array(list.length * 2);
  for (let rank = 0; rank < list.length; rank += 1) {
    const [left, right] = readMerge(list[rank], rank);
    const leftId = vocabulary.get(left);
    const rightId = vocabulary.get(right);
    if (leftId === undefined || rightId === undefined || !vocabulary.has(left + right)) {
      throw new TokenizerFormatError(`model.merges[${rank}]`, "not in model.vocab");
    }
    merges[rank * 2] = leftId;
    merges[rank * 2 + 1] = rightId;
  }
  return merges;
}

function readMerge(merge: unknown, rank: number): readonly [string, string] {
  const parts: readonly unknown[] =
    typeof merge === "string" ? merge.split(" ") : Array.isArray(merge) ? (merge as unknown[]) : [];
  const [left, right] = parts;
  if (parts.length !== 2 || typeof left !== "string" || typeof right !== "string") {
    throw new TokenizerFormatError(`model.merges[${rank}]`, "not a pair of tokens");
  }
  return [left, right];
}

function readAddedTokens(root: JsonObject): AddedToken[] {
  return arrayAt(root.added_tokens ?? [], "added_tokens").map((entry, index) => {
    const field = `added_tokens[${index}]`;
    const token = objectAt(entry, field);
    for (const flag of ["lstrip", "rstrip", "single_word"]) {
      expectNeutral(token, field, flag, [false]);
    }
    return {
      id: idAt(token.id, `${field}.id`),
      content: stringAt(token.content, `${field}.content`),
      special: token.special === true,
      normalized: token.normalized === true,
    };
  });
}
