import { describe, expect, it } from "vitest";
import { readFacts } from "../../src/gguf/gguf-facts.ts";
import { readMetadata } from "../../src/gguf/read-metadata.ts";
import { buildGguf } from "../support/gguf-builder.ts";
import { ggufValues } from "../support/gguf-model.ts";
import { smallArtifact } from "../support/small-artifact.ts";

describe("readFacts", () => {
  it("reads what the file says, under its architecture's name", () => {
    expect(readFacts(readMetadata(buildGguf(ggufValues(smallArtifact()))))).toEqual({
      architecture: "llama",
      name: "Small",
      contextLength: 2048,
      layers: 4,
      heads: 8,
      kvHeads: 4,
      embeddingLength: 64,
      keyLength: 8,
      valueLength: 8,
      fileType: 3,
    });
  });

  it("prefers lengths that are given to those that follow, and is null where neither is", () => {
    const facts = readFacts(
      readMetadata(
        buildGguf({
          "general.architecture": { type: "string", value: "qwen3" },
          "qwen3.attention.head_count": { type: "u32", value: 16 },
          "qwen3.attention.key_length": { type: "u32", value: 128 },
        }),
      ),
    );
    expect(facts).toMatchObject({
      keyLength: 128,
      valueLength: null,
      kvHeads: 16,
      name: null,
      layers: null,
    });
  });
});
