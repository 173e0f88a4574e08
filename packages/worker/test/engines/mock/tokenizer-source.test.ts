import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadTokenizer } from "../../../src/engines/mock/tokenizer-source.ts";

describe("loadTokenizer", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "baton-tokenizer-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("gives the one that Baton holds, shared by the workers of a process", () => {
    const { tokenizer } = loadTokenizer();

    expect(tokenizer.decode(tokenizer.encode("a word, and another"))).toBe("a word, and another");
    expect(tokenizer.chatTemplate).not.toBeNull();
    expect(loadTokenizer()).toBe(loadTokenizer());
  });

  it("reads a folder, and makes the artifact that Frontends read back", () => {
    writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tinyTokenizer));
    writeFileSync(join(folder, "chat_template.jinja"), "{{ messages[0].content }}");

    const { artifact, tokenizer } = loadTokenizer(folder);

    expect([...tokenizer.encode("ab")]).toEqual([2]);
    expect(tokenizer.chatTemplate).toBe("{{ messages[0].content }}");
    expect(artifact.length).toBeGreaterThan(0);
  });

  it.each([
    ["without a tokenizer", null],
    ["with one that is no JSON", "{"],
    ["with one of another kind", JSON.stringify({ model: { type: "Unigram" } })],
  ])("refuses a folder %s, naming the option", (_what, content) => {
    if (content !== null) writeFileSync(join(folder, "tokenizer.json"), content);

    expect(() => loadTokenizer(folder)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        details: expect.objectContaining({ option: "model" }),
      }),
    );
  });
});

/** Byte-level BPE of three tokens: a, b, ab. */
const tinyTokenizer = {
  model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [["a", "b"]] },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
  decoder: { type: "ByteLevel" },
};
