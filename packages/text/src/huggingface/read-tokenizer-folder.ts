import { endOfGenerationIds } from "../artifact/end-of-generation.ts";
import { type TokenizerArtifact, vocabularySize } from "../artifact/tokenizer-artifact.ts";
import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import { arrayAt, idAt, isObject, type JsonObject, readJsonObject } from "./json-fields.ts";
import { readBpeModel } from "./read-bpe-model.ts";
import {
  checkDecoder,
  readNormalizer,
  readPostProcessor,
  readPreTokenizer,
} from "./read-pipeline.ts";

/** The files of a tokenizer folder, each as text or as parsed JSON. */
export interface TokenizerFolder {
  readonly tokenizerJson: unknown;
  readonly tokenizerConfig?: unknown;
  readonly generationConfig?: unknown;
  /** `chat_template.jinja`; wins over the template in `tokenizer_config.json`. */
  readonly chatTemplate?: string;
}

/**
 * Makes an artifact from a Hugging Face tokenizer folder.
 *
 * Only byte-level BPE, with ids equal to the reference's. Anything else is refused with a `TokenizerFormatError` that
 * names the field. Parsing a large file takes 0.3 to 0.6 s: not for an event loop that serves.
 */
export function readTokenizerFolder(folder: TokenizerFolder): TokenizerArtifact {
  const root = readJsonObject(folder.tokenizerJson, "tokenizer.json");
  const config = readJsonObject(folder.tokenizerConfig ?? {}, "tokenizer_config.json");
  const generation = readJsonObject(folder.generationConfig ?? {}, "generation_config.json");
  const model = readBpeModel(root);
  checkDecoder(root.decoder);
  const idOf = (key: string) => specialId(config, key, model.addedTokens);
  const bosId = idOf("bos_token") ?? firstId(generation.bos_token_id, "bos_token_id");
  const eosId = idOf("eos_token") ?? firstId(generation.eos_token_id, "eos_token_id");
  const artifact: TokenizerArtifact = {
    ...model,
    ...readPostProcessor(root.post_processor),
    preTokenizer: readPreTokenizer(root.pre_tokenizer),
    normalizer: readNormalizer(root.normalizer),
    bosId,
    eosId,
    endOfGenerationIds: endOfGenerationIds(
      [eosId, ...idList(generation.eos_token_id, "eos_token_id")],
      model.addedTokens.filter((token) => token.special),
    ),
    chatTemplate: folder.chatTemplate ?? readChatTemplate(config),
  };
  checkIds(artifact);
  return artifact;
}

function specialId(
  config: JsonObject,
  key: string,
  added: readonly { readonly id: number; readonly content: string }[],
): number | null {
  const value = config[key];
  const content = isObject(value) ? value.content : value;
  return added.find((token) => token.content === content)?.id ?? null;
}

function idList(value: unknown, key: string): readonly number[] {
  if (value === undefined || value === null) {
    return [];
  }
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  return list.map((id) => idAt(id, `generation_config.${key}`));
}

function firstId(value: unknown, key: string): number | null {
  return idList(value, key)[0] ?? null;
}

/** One template, or a list of named ones of which `default` is meant. */
function readChatTemplate(config: JsonObject): string | null {
  const value = config.chat_template;
  if (value === undefined || value === null || typeof value === "string") {
    return value ?? null;
  }
  const templates = arrayAt(value, "tokenizer_config.chat_template").filter(isObject);
  const template = templates.find(({ name }) => name === "default")?.template;
  if (typeof template !== "string") {
    throw new TokenizerFormatError(
      "tokenizer_config.chat_template",
      "has no template named default",
    );
  }
  return template;
}

function checkIds(artifact: TokenizerArtifact): void {
  const size = vocabularySize(artifact);
  const ids = [...artifact.prefixIds, ...artifact.suffixIds, ...artifact.endOfGenerationIds];
  for (const id of [...ids, artifact.bosId ?? 0]) {
    if (id >= size) {
      throw new TokenizerFormatError("special ids", `${id} is no id of a vocabulary of ${size}`);
    }
  }
}
