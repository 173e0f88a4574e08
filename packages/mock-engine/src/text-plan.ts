import type { OutputPlan } from "./engine-request.ts";
import { greedySampling, type MockSampling, mockText } from "./mock-text.ts";

export interface TextPlanOptions {
  /** Eight hex digits of the hash of the prompt's token ids. */
  readonly promptHashHex: string;
  readonly sampling?: MockSampling | undefined;
  /** Token ids of a piece of text in the model's own tokenizer, without special tokens. Never empty for a piece that is not. */
  readonly encode: (piece: string) => ArrayLike<number>;
}

/** The endless mock text of one choice, tokenized word by word as it is asked for. */
export class TextPlan implements OutputPlan {
  private readonly options: TextPlanOptions;
  private tokens: Uint32Array = new Uint32Array(64);
  private length = 0;
  private words = 0;

  constructor(options: TextPlanOptions) {
    this.options = options;
  }

  next(index: number): number {
    while (index >= this.length) this.extend();
    return this.tokens[index]!;
  }

  private extend(): void {
    const { promptHashHex, sampling, encode } = this.options;
    const [piece] = mockText(promptHashHex, 1, sampling ?? greedySampling, this.words++);
    const ids = encode(piece!);
    if (ids.length === 0) throw new Error("the tokenizer gave no token for a word");
    if (this.length + ids.length > this.tokens.length) {
      const larger = new Uint32Array((this.length + ids.length) * 2);
      larger.set(this.tokens);
      this.tokens = larger;
    }
    this.tokens.set(ids, this.length);
    this.length += ids.length;
  }
}
