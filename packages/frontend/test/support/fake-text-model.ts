import type { TextModel } from "../../src/prepare/text-model.ts";

/** The token that ends a generation. */
export const endToken = 3;

/** A model whose tokens are the UTF-8 bytes of the text, so that characters cross tokens. */
export const fakeTextModel: TextModel = {
  vocabularySize: 256,
  encode: (text) => Promise.resolve(Uint32Array.from(new TextEncoder().encode(text))),
  renderChat: (messages, { opensTurn = true } = {}) =>
    messages.map(({ role, content }) => `${role}:${content}\n`).join("") +
    (opensTurn ? "assistant:" : ""),
  decoder: () => {
    const decoder = new TextDecoder();
    return {
      push: (id) => decoder.decode(Uint8Array.of(id), { stream: true }),
      flush: () => decoder.decode(),
    };
  },
  bytes: (id) => Uint8Array.of(id),
  endsGeneration: (id) => id === endToken,
};

/** The tokens of a text. */
export function tokensOf(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}
