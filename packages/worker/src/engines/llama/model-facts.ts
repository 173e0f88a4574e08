/** What the worker reads of a GGUF itself: its tokenizer, its size, its hash. */

import { open } from "node:fs/promises";
import { ServingError } from "@baton/protocol";
import {
  encodeTokenizerArtifact,
  type GgufFacts,
  type GgufTokenizerResult,
  readGgufTokenizer,
  TokenizerFormatError,
} from "@baton/text";
import { sha256OfFile } from "./model-file.ts";

export interface ModelFacts {
  /** Hex SHA-256 of the file. */
  readonly sha256: string;
  /** The compact tokenizer artifact, chat template included. */
  readonly tokenizer: Uint8Array;
  readonly gguf: GgufFacts;
}

const firstReadBytes = 4 << 20;
const contextStep = 256;
const halfFloatBytes = 2;

/** Reads a model file's facts. Throws `config_invalid` if it is absent, no GGUF, or has another kind of tokenizer. */
export async function readModelFacts(path: string): Promise<ModelFacts> {
  try {
    const { artifact, facts } = await readTokenizer(path);
    const sha256 = await sha256OfFile(path);
    return { sha256, tokenizer: encodeTokenizerArtifact(artifact), gguf: facts };
  } catch (error) {
    if (error instanceof TokenizerFormatError || isSystemError(error)) {
      const problem = `the model ${path} cannot be used: ${error.message}`;
      throw new ServingError("config_invalid", { problem }, { cause: error });
    }
    throw error;
  }
}

async function readTokenizer(path: string): Promise<GgufTokenizerResult & { kind: "read" }> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    for (let wanted = firstReadBytes; ; ) {
      const bytes = new Uint8Array(Math.min(wanted, size));
      await file.read(bytes, 0, bytes.length, 0);
      const result = readGgufTokenizer(bytes);
      if (result.kind === "read") return result;
      if (bytes.length === size) throw new TokenizerFormatError("gguf", "the file ends early");
      wanted = Math.max(2 * wanted, result.atLeastBytes);
    }
  } finally {
    await file.close();
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

/** Keys and values of one token over all layers, in half floats. */
export function kvBytesPerToken(gguf: GgufFacts): number {
  const { layers, kvHeads, keyLength, valueLength } = gguf;
  if (layers === null || kvHeads === null || keyLength === null || valueLength === null) {
    throw new ServingError("config_invalid", { problem: "the model does not say its KV's size" });
  }
  return halfFloatBytes * layers * kvHeads * (keyLength + valueLength);
}

/**
 * Tokens of one sequence: what was asked for, else the model's; never more than the model's, nor than
 * `memoryBytes` for the cells of all sequences. A multiple of 256. Throws `config_invalid` if that is none.
 */
export function chooseContextLength(
  gguf: GgufFacts,
  asked: number | null,
  sequences: number,
  memoryBytes: number,
): number {
  const trained = gguf.contextLength ?? Number.POSITIVE_INFINITY;
  const affordable = memoryBytes / (kvBytesPerToken(gguf) * sequences);
  const wanted = Math.min(asked ?? trained, trained);
  const bounded = Math.min(wanted, Math.floor(affordable / contextStep) * contextStep);
  if (bounded < 1) {
    throw new ServingError("config_invalid", {
      problem: `${memoryBytes} bytes are too few for the KV of ${sequences} sequences`,
    });
  }
  return Math.ceil(bounded / contextStep) * contextStep;
}
