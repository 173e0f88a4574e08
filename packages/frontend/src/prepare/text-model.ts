import type { ChatMessage } from "../request/serving-request.ts";

/** Turns the tokens of one choice into text as they come. */
export interface TokenDecoder {
  /** The text that one more token completes. */
  push(id: number): string;
  /** Ends the text: what is held back of an open character. */
  flush(): string;
}

/** How a chat is written. */
export interface RenderChatOptions {
  /** Whether the prompt ends with the beginning of the assistant's turn. Default true. */
  readonly opensTurn?: boolean;
}

/** Tokenizer and chat template of one model, ready to use. One per artifact, shared by all requests. */
export interface TextModel {
  /** Tokens of a text, in slices that let others run. `special` puts BOS and the like around it. */
  encode(text: string, options: { readonly special: boolean }): Promise<Uint32Array>;
  /** The prompt that a chat becomes. Throws `invalid_request` if the template refuses it, `unsupported` without one. */
  renderChat(messages: readonly ChatMessage[], options?: RenderChatOptions): string;
  decoder(): TokenDecoder;
  /** The bytes of one token; empty for an id that there is not. */
  bytes(id: number): Uint8Array;
  /** Ids below this one exist. */
  readonly vocabularySize: number;
  /** Whether a generation ends at this id. */
  endsGeneration(id: number): boolean;
}
