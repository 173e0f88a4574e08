import type { ChatMessage } from "../request/serving-request.ts";

/** A prompt that is to be tokenized as a request with it would be. */
export interface TokenizeAsk {
  readonly model: string;
  readonly prompt:
    | { readonly kind: "text"; readonly text: string }
    | {
        readonly kind: "chat";
        readonly messages: readonly ChatMessage[];
        /** Whether the prompt ends with the beginning of the assistant's turn. */
        readonly opensTurn: boolean;
      };
  /** Whether BOS and the like are put around it. */
  readonly special: boolean;
}

/** A prompt's tokens. */
export interface TokenizedPrompt {
  readonly tokens: Uint32Array;
  /** Most tokens of prompt and output together. */
  readonly contextLength: number;
  /** One token as text. */
  textOf(id: number): string;
}

/** Tokenizes without generating. Rejects with a `ServingError` that is the client's to see. */
export interface TokenizePort {
  tokenize(ask: TokenizeAsk): Promise<TokenizedPrompt>;
  /** The text of tokens, special ones included. */
  detokenize(model: string, tokens: readonly number[]): Promise<string>;
}
