import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTokenizer, decodeTokenizerArtifact } from "@baton/text";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTinyGguf } from "../../../scripts/make-tiny-gguf.ts";
import {
  chooseContextLength,
  kvBytesPerToken,
  type ModelFacts,
  readModelFacts,
} from "../../../src/engines/llama/model-facts.ts";

let folder = "";
let facts: ModelFacts;
const bytes = makeTinyGguf();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "baton-facts-"));
  await writeFile(join(folder, "tiny.gguf"), bytes);
  facts = await readModelFacts(join(folder, "tiny.gguf"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe("readModelFacts", () => {
  it("reads hash, sizes and a tokenizer that works", () => {
    expect(facts.sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
    expect(facts.gguf).toMatchObject({ layers: 4, kvHeads: 2, contextLength: 4096 });
    const tokenizer = createTokenizer(decodeTokenizerArtifact(facts.tokenizer));
    expect(tokenizer.vocabularySize).toBe(640);
    expect(tokenizer.encode("the city").length).toBeLessThan(5);
  });

  it("refuses what is absent, no GGUF or cut short with `config_invalid`", async () => {
    const config_invalid = { code: "config_invalid" };
    await expect(readModelFacts(join(folder, "none"))).rejects.toMatchObject(config_invalid);
    await writeFile(join(folder, "text"), "not a model at all");
    await expect(readModelFacts(join(folder, "text"))).rejects.toMatchObject(config_invalid);
    await writeFile(join(folder, "short"), bytes.subarray(0, 3000));
    await expect(readModelFacts(join(folder, "short"))).rejects.toMatchObject(config_invalid);
  });
});

describe("chooseContextLength", () => {
  it("takes the model's, less if asked, never more", () => {
    expect(chooseContextLength(facts.gguf, null, 1, 1 << 30)).toBe(4096);
    expect(chooseContextLength(facts.gguf, 1000, 1, 1 << 30)).toBe(1024);
    expect(chooseContextLength(facts.gguf, 9999, 1, 1 << 30)).toBe(4096);
  });

  it("stays within the memory for all sequences", () => {
    expect(kvBytesPerToken(facts.gguf)).toBe(512);
    expect(chooseContextLength(facts.gguf, null, 4, 512 * 4 * 700)).toBe(512);
    expect(() => chooseContextLength(facts.gguf, null, 4, 1000)).toThrow(/too few/);
  });
});
