import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BlockHasher, createBlockHasherFromModule } from "@baton/kv-router";
import { mockText } from "@baton/mock-engine";
import { tokensToBytes } from "@baton/protocol";
import { createTokenizer, parseChatTemplate, readTokenizerFolder } from "@baton/text";
import type { PlannedRequest } from "./plan.ts";

/** The tokenizer of every simulated model: 256 bytes and an end, so that a token of mock text is a character. */
export const tokenizerFolder: string = fileURLToPath(new URL("./byte-tokenizer", import.meta.url));

const read = (name: string) => readFileSync(join(tokenizerFolder, name), "utf8");
const tokenizer = createTokenizer(
  readTokenizerFolder({
    tokenizerJson: read("tokenizer.json"),
    tokenizerConfig: read("tokenizer_config.json"),
  }),
);
const template = parseChatTemplate(tokenizer.chatTemplate ?? "", {
  bosToken: tokenizer.bosToken,
  eosToken: tokenizer.eosToken,
});
const hasher: BlockHasher = createBlockHasherFromModule();

/** What a request must say, by choice. */
export interface ExpectedOutput {
  /** All that the engine makes. */
  readonly generated: readonly string[];
  /** What the client sees: stop texts cut it. */
  readonly returned: readonly string[];
}

/** What the mock engine says to a prompt, whatever becomes of its relay. */
export function expectedOutput({ prompt, output }: PlannedRequest): ExpectedOutput {
  const hash = hasher.xxh3(tokensToBytes(tokensOf(prompt)));
  const name = new DataView(hash.buffer, hash.byteOffset).getUint32(0, true);
  const hex = name.toString(16).padStart(8, "0");
  const generated = Array.from({ length: output.n }, (_, choice) => {
    const sampling = { temperature: output.temperature, seed: output.samplingSeed, choice };
    return mockText(hex, output.maxTokens, sampling).join("").slice(0, output.maxTokens);
  });
  return { generated, returned: generated.map((text) => cutAtStop(text, output.stop)) };
}

function tokensOf(prompt: PlannedRequest["prompt"]): Uint32Array {
  switch (prompt.kind) {
    case "tokens":
      return prompt.tokens;
    case "text":
      return tokenizer.encode(prompt.text, { addSpecial: true });
    case "chat": {
      const messages = [{ role: "user", content: prompt.text }];
      return tokenizer.encode(template.render(messages, { nowMs: 0 }), { addSpecial: false });
    }
  }
}

function cutAtStop(text: string, stop: readonly string[]): string {
  const ends = stop.map((word) => text.indexOf(word)).filter((end) => end >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}
