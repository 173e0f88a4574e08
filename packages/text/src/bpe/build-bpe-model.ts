import { type TokenizerArtifact, vocabularySize } from "../artifact/tokenizer-artifact.ts";
import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import { BpeModel } from "./bpe-model.ts";
import { MergeTable } from "./merge-table.ts";
import { TokenByteTable } from "./token-byte-table.ts";
import { droppedByte, unknownByte } from "./unknown-byte.ts";

/** Builds the tables of a tokenizer in steps: a vocabulary of 128,000 with its merges takes 10 to 30 ms. */
export class BpeModelBuild {
  private readonly artifact: TokenizerArtifact;
  private readonly words: TokenByteTable;
  private readonly merges: MergeTable;
  private readonly added: ReadonlySet<number>;
  private readonly order: readonly number[];
  private nextToken = 0;
  private nextMerge = 0;

  constructor(artifact: TokenizerArtifact) {
    this.artifact = artifact;
    this.words = new TokenByteTable(artifact.tokenBytes, artifact.tokenOffsets);
    this.merges = new MergeTable(artifact.merges.length / 2);
    this.added = new Set(artifact.addedTokens.map((token) => token.id));
    this.order = [...this.added];
  }

  /**
   * Enters at most `maxItems` tokens and merges. True when all are entered.
   *
   * Throws `TokenizerFormatError` at a merge whose result is no token.
   */
  step(maxItems: number): boolean {
    const tokens = vocabularySize(this.artifact);
    let left = maxItems;
    for (; left > 0 && this.nextToken < tokens; left -= 1, this.nextToken += 1) {
      if (!this.added.has(this.nextToken)) {
        this.words.insert(this.nextToken);
      }
    }
    if (this.nextToken < tokens) {
      return false;
    }
    if (this.nextMerge === 0) {
      // After the others: where an added token has the bytes of a model's token, the model's token counts.
      for (const id of this.order) {
        this.words.insert(id);
      }
    }
    const count = this.artifact.merges.length / 2;
    for (; left > 0 && this.nextMerge < count; left -= 1, this.nextMerge += 1) {
      this.enterMerge(this.nextMerge);
    }
    return this.nextMerge === count;
  }

  /** The model, once `step` has returned true. */
  finish(): BpeModel {
    return new BpeModel(
      this.merges,
      this.words,
      this.artifact.ignoreMerges,
      this.artifact.keepsUnknownBytes === true ? unknownByte : droppedByte,
    );
  }

  private enterMerge(rank: number): void {
    const left = this.artifact.merges[rank * 2]!;
    const right = this.artifact.merges[rank * 2 + 1]!;
    const id = this.words.findJoined(left, right);
    if (id < 0) {
      throw new TokenizerFormatError(
        `merges[${rank}]`,
        `the merge of ${left} and ${right} is no token`,
      );
    }
    this.merges.insert(left, right, rank, id);
  }
}
