import type { OutputPlan } from "./engine-request.ts";
import { greedySampling, type MockSampling, mockText } from "./mock-text.ts";

export interface TextPlanOptions {
  /** Eight hex digits of the hash of the prompt's token ids. */
  readonly promptHashHex: string;
  readonly sampling?: MockSampling | undefined;
  /** Another text, piece by piece from 0, no piece empty; undefined after the last one. Default: the endless mock text. */
  readonly pieceAt?: ((index: number) => string | undefined) | undefined;
  /** The token after the last piece of a text that ends, if the model has one for that. */
  readonly endToken?: number | undefined;
  /** Token ids of a piece of text in the model's own tokenizer, without special tokens. Never empty for a piece that is not. */
  readonly encode: (piece: string) => ArrayLike<number>;
}

/** The mock text of one choice, tokenized piece by piece as it is asked for. */
export class TextPlan implements OutputPlan {
  private readonly options: TextPlanOptions;
  private readonly pieceAt: (index: number) => string | undefined;
  private tokens: Uint32Array = new Uint32Array(64);
  private length = 0;
  private pieces = 0;
  private isWhole = false;

  constructor(options: TextPlanOptions) {
    this.options = options;
    const { promptHashHex, sampling = greedySampling } = options;
    this.pieceAt = options.pieceAt ?? ((index) => mockText(promptHashHex, 1, sampling, index)[0]);
  }

  next(index: number): number | undefined {
    while (index >= this.length && !this.isWhole) this.extend();
    return index < this.length ? this.tokens[index] : undefined;
  }

  private extend(): void {
    const { encode, endToken } = this.options;
    const piece = this.pieceAt(this.pieces++);
    if (piece === undefined) {
      this.isWhole = true;
      if (endToken !== undefined) this.append([endToken]);
      return;
    }
    const ids = encode(piece);
    if (ids.length === 0) throw new Error("the tokenizer gave no token for a word");
    this.append(ids);
  }

  private append(ids: ArrayLike<number>): void {
    if (this.length + ids.length > this.tokens.length) {
      const larger = new Uint32Array((this.length + ids.length) * 2);
      larger.set(this.tokens);
      this.tokens = larger;
    }
    this.tokens.set(ids, this.length);
    this.length += ids.length;
  }
}
