// Hot: once per streamed token. Budget: 60 ns a token of English. Bench: bench/tokenizer.bench.ts.

import {
  type TokenizerArtifact,
  tokenBytesOf,
  vocabularySize,
} from "../artifact/tokenizer-artifact.ts";
import { decodeUtf8 } from "./decode-utf8.ts";

/** The bytes and the text of each token, shared by all detokenizers of a tokenizer. Texts are made when first needed. */
export class TokenTexts {
  private readonly artifact: TokenizerArtifact;
  /** The text of a token that ends with a whole character, null where it does not. */
  private readonly texts: (string | null | undefined)[];
  private readonly special: Uint8Array;

  constructor(artifact: TokenizerArtifact) {
    this.artifact = artifact;
    const size = vocabularySize(artifact);
    this.texts = new Array<string | null | undefined>(size).fill(undefined);
    this.special = new Uint8Array(size);
    for (const token of artifact.addedTokens) {
      this.special[token.id] = token.special ? 1 : 0;
    }
  }

  /** The bytes of a token: a view, empty for an id out of range. */
  bytes(id: number): Uint8Array {
    return tokenBytesOf(this.artifact, id);
  }

  /** Whether a token only marks structure. */
  isSpecial(id: number): boolean {
    return this.special[id] === 1;
  }

  /** What a token reads as where a character begins; null if it ends within a character. Empty for an id out of range. */
  wholeText(id: number): string | null {
    if (!(id >= 0 && id < this.texts.length)) {
      return "";
    }
    const known = this.texts[id];
    if (known !== undefined) {
      return known;
    }
    const bytes = this.bytes(id);
    const { text, openBytes } = decodeUtf8(bytes, bytes.length);
    const whole = openBytes === 0 ? text : null;
    this.texts[id] = whole;
    return whole;
  }
}
