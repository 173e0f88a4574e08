import { describe, expect, it } from "vitest";
import { tokenBytesOf, vocabularySize } from "../../src/artifact/tokenizer-artifact.ts";
import { smallArtifact } from "../support/small-artifact.ts";

describe("a tokenizer artifact", () => {
  it("gives the bytes of an id, none for an id out of range", () => {
    const artifact = smallArtifact();
    expect(Buffer.from(tokenBytesOf(artifact, 260)).toString()).toBe("abc");
    expect(tokenBytesOf(artifact, vocabularySize(artifact))).toHaveLength(0);
    expect(tokenBytesOf(artifact, -1)).toHaveLength(0);
  });
});
