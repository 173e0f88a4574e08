import { chatTemplateOf, type LoadText, textModelOf } from "@baton/frontend";
import { createTokenizer, decodeTokenizerArtifact, type Tokenizer } from "@baton/text";

const tokenizers = new Map<string, Tokenizer>();

/**
 * Loads a text for a simulated Frontend. All that get the same bytes share their tokenizer: to make and warm up one for each is a
 * tenth of a run. In one go, so that no run depends on what ran before.
 */
export const sharedText: LoadText = (clock, bytes) => {
  const key = Buffer.from(bytes).toString("latin1");
  const tokenizer = tokenizers.get(key) ?? createTokenizer(decodeTokenizerArtifact(bytes));
  tokenizers.set(key, tokenizer);
  return Promise.resolve(textModelOf(clock, tokenizer, chatTemplateOf(tokenizer)));
};
