import { layOutTokens } from "../../src/artifact/token-list.ts";
import { encodeUtf8 } from "../../src/artifact/utf8.ts";
import type { TokenizerArtifact } from "../../src/index.ts";

/**
 * 256 byte tokens (id = byte + 3 behind three special ones), then `ab`, `abc`, ` a` and `bc`, with merges in this order:
 * a+b, ab+c, space+a, b+c.
 */
export function smallArtifact(changes: Partial<TokenizerArtifact> = {}): TokenizerArtifact {
  const specials = ["<s>", "</s>", "<|end|>"];
  const tokens = [
    ...specials.map(encodeUtf8),
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...["ab", "abc", " a", "bc"].map(encodeUtf8),
  ];
  const id = (character: string) => character.charCodeAt(0) + 3;
  return {
    ...layOutTokens(tokens, tokens.length),
    merges: Uint32Array.of(id("a"), id("b"), 259, id("c"), id(" "), id("a"), id("b"), id("c")),
    ignoreMerges: false,
    addedTokens: specials.map((content, index) => ({
      id: index,
      content,
      special: true,
      normalized: false,
    })),
    preTokenizer: { kind: "family", family: "gpt-2" },
    normalizer: "none",
    prefixIds: [],
    suffixIds: [],
    bosId: 0,
    eosId: 1,
    endOfGenerationIds: [1, 2],
    chatTemplate: "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    ...changes,
  };
}
