import type { PreTokenizerFamily, SplitRule } from "../scan/split-rules.ts";

/** A token that is found in the text before anything else, whatever stands around it. */
export interface AddedToken {
  readonly id: number;
  /** The text that becomes this token. */
  readonly content: string;
  /** Whether the token marks structure and is left out of what a user reads. */
  readonly special: boolean;
  /** Whether it is looked for after the normalizer, in normalized text. */
  readonly normalized: boolean;
}

/** How text is cut into words before merging: a family by name, or the rules of one that has none. */
export type PreTokenizer =
  | { readonly kind: "family"; readonly family: PreTokenizerFamily }
  | { readonly kind: "rules"; readonly rules: readonly SplitRule[] };

/** What happens to text before it is cut into words. */
export type Normalizer = "none" | "nfc";

/**
 * Everything that a byte-level BPE tokenizer and its chat template consist of.
 *
 * A worker makes it from its model's files and publishes its compact form (`encodeTokenizerArtifact`).
 */
export interface TokenizerArtifact {
  /** The bytes of all tokens, in order of id. A token of no bytes is an id that is not used. */
  readonly tokenBytes: Uint8Array;
  /** Where each token begins in `tokenBytes`, and at last where the last one ends. */
  readonly tokenOffsets: Uint32Array;
  /** Left and right id of each merge, in order of rank. */
  readonly merges: Uint32Array;
  /** Whether a word that is a token as a whole is taken as it is, without merging. */
  readonly ignoreMerges: boolean;
  readonly addedTokens: readonly AddedToken[];
  readonly preTokenizer: PreTokenizer;
  readonly normalizer: Normalizer;
  /**
   * Whether a byte that is no token stands between its neighbours while they merge, and is dropped afterwards, as llama.cpp
   * does; the reference library drops it first. Without it, the latter.
   */
  readonly keepsUnknownBytes?: boolean;
  /** Ids put in front of a text and after it when special tokens are asked for (BOS). */
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  readonly bosId: number | null;
  readonly eosId: number | null;
  /** Every id at which a generation ends. */
  readonly endOfGenerationIds: readonly number[];
  /** The Jinja source of the chat template. */
  readonly chatTemplate: string | null;
}

/** How many ids a tokenizer has, unused ones included. */
export function vocabularySize(artifact: TokenizerArtifact): number {
  return artifact.tokenOffsets.length - 1;
}

/** The bytes of one token: a view into the artifact, empty for an id out of range. */
export function tokenBytesOf(artifact: TokenizerArtifact, id: number): Uint8Array {
  return artifact.tokenBytes.subarray(
    artifact.tokenOffsets[id] ?? 0,
    artifact.tokenOffsets[id + 1] ?? 0,
  );
}
