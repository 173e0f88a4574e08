import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ServingError } from "@baton/protocol";
import {
  createTokenizer,
  decodeTokenizerArtifact,
  encodeTokenizerArtifact,
  readTokenizerFolder,
  type Tokenizer,
  type TokenizerArtifact,
} from "@baton/text";

/** A tokenizer and the artifact that Frontends make the same one from. */
export interface TokenizerSource {
  readonly artifact: Uint8Array;
  readonly tokenizer: Tokenizer;
}

/** By folder, the default under the empty name: workers of one process share what they do not change. */
const loaded = new Map<string, TokenizerSource>();

/**
 * The tokenizer of a folder with a `tokenizer.json`, or the one that Baton holds. Reads synchronously: a worker that loads
 * it serves nothing yet. Throws `config_invalid`.
 */
export function loadTokenizer(folder?: string): TokenizerSource {
  const key = folder ?? "";
  const known = loaded.get(key);
  if (known !== undefined) return known;
  const source = folder === undefined ? readDefault() : readFolder(folder);
  loaded.set(key, source);
  return source;
}

function readDefault(): TokenizerSource {
  const url = new URL("../../../../text/assets/default-tokenizer.bin", import.meta.url);
  const artifact = new Uint8Array(readFileSync(fileURLToPath(url)));
  return { artifact, tokenizer: createTokenizer(decodeTokenizerArtifact(artifact)) };
}

function readFolder(folder: string): TokenizerSource {
  try {
    const read = readFiles(folder);
    return { artifact: encodeTokenizerArtifact(read), tokenizer: createTokenizer(read) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ServingError(
      "config_invalid",
      { problem: `no tokenizer can be read from ${folder}: ${why}`, option: "model" },
      { cause: error },
    );
  }
}

function readFiles(folder: string): TokenizerArtifact {
  const text = (name: string): string | undefined => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  };
  const tokenizerJson = text("tokenizer.json");
  if (tokenizerJson === undefined) throw new Error("there is no tokenizer.json");
  const tokenizerConfig = text("tokenizer_config.json");
  const generationConfig = text("generation_config.json");
  const chatTemplate = text("chat_template.jinja");
  return readTokenizerFolder({
    tokenizerJson,
    ...(tokenizerConfig === undefined ? {} : { tokenizerConfig }),
    ...(generationConfig === undefined ? {} : { generationConfig }),
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
  });
}
