/** A tokenizer that is malformed or of a kind that is not supported. */
export class TokenizerFormatError extends Error {
  /** The field at fault, as a path into the source: `model.type`, `tokenizer.ggml.pre`. */
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.name = "TokenizerFormatError";
    this.field = field;
  }
}
