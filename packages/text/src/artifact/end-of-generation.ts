/** Special tokens that end a turn or a text in the models we know, whatever a model's files say. */
const endOfGenerationTexts: ReadonlySet<string> = new Set([
  "<|eot_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<|endoftext|>",
  "<|end_of_text|>",
  "<|eom_id|>",
  "<end_of_turn>",
  "<end_of_utterance>",
  "<EOT>",
  "_<EOT>",
  "<｜end▁of▁sentence｜>",
]);

/**
 * Every id at which a generation ends, ascending: those that the files name, and special tokens whose text says so.
 *
 * Of the Harmony format `<|end|>` closes a message, not a turn: it does not count beside `<|return|>` and `<|call|>`.
 */
export function endOfGenerationIds(
  named: readonly (number | null)[],
  specials: Iterable<{ readonly id: number; readonly content: string }>,
): number[] {
  const byText = new Map<string, number>();
  for (const { id, content } of specials) {
    if (endOfGenerationTexts.has(content)) {
      byText.set(content, id);
    }
  }
  if (byText.has("<|return|>") && byText.has("<|call|>")) {
    byText.delete("<|end|>");
  }
  const ids = new Set([...byText.values(), ...named.filter((id) => id !== null)]);
  return [...ids].toSorted((left, right) => left - right);
}
