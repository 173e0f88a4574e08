import { bytesToTokens, tokensToBytes } from "../codec.ts";
import { arrayMessage, type MessageType, malformed } from "../message-type.ts";

/**
 * What shape an output must have. `json`: one JSON object. `json_schema`: one JSON value that is valid by `schema`, the text of a
 * JSON schema; an engine refuses keywords that it cannot keep to.
 */
export type OutputGrammar =
  | { readonly kind: "json" }
  | { readonly kind: "json_schema"; readonly schema: string };

/**
 * What an engine needs to know about the wanted output. Absent means the engine's neutral value. One map,
 * encoded once by the Frontend, passed unopened by routers.
 */
export interface GenerationParams {
  /** Most output tokens, at least 1. */
  readonly maxTokens: number;
  readonly minTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly repetitionPenalty?: number;
  /** 0 to 2^32 − 1. The Frontend draws one if the client gave none and sampling is on. */
  readonly seed?: number;
  readonly stopTokenIds?: readonly number[];
  readonly ignoreEos?: boolean;
  /** Token id (decimal text) to added logit. */
  readonly logitBias?: Readonly<Record<string, number>>;
  /** Alternatives reported per output token; 0 reports the chosen one only; absent reports none. */
  readonly logprobs?: number;
  /** Alternatives reported per prompt token after the first; 0 reports the token itself only; absent reports none. */
  readonly promptLogprobs?: number;
  /** Choices, default 1. */
  readonly n?: number;
  /** Absent: free text. With it a text ends where the grammar ends it, whatever `minTokens` and `ignoreEos` say. */
  readonly grammar?: OutputGrammar;
}

/** The body that a router passes to a worker unopened: the prompt and what is wanted of it. */
export interface GenerationWork {
  /** The prompt's token ids. */
  readonly tokens: Uint32Array;
  readonly params: GenerationParams;
  /** Adapter, absent for the base model. */
  readonly lora: string | null;
  /** What sets the block hashes apart beside the adapter: the card's and the tenant's salt as one text; null for none. */
  readonly salt: string | null;
}

// v1: [tokens, params, lora, salt]   tokens: u32 little endian, params: map
export const GenerationWork: MessageType<GenerationWork> = arrayMessage(
  "generation-work",
  1,
  ["tokens", "params", "lora", "salt"],
  (work) => [tokensToBytes(work.tokens), work.params, work.lora, work.salt],
  (fields) => {
    const params = fields.map<GenerationParams>(1);
    if (typeof params.maxTokens !== "number")
      throw malformed("generation-work", "params.maxTokens");
    return {
      tokens: bytesToTokens(fields.bytes(0)),
      params,
      lora: fields.optional(2, (reader, index) => reader.string(index)),
      salt: fields.optional(3, (reader, index) => reader.string(index)),
    };
  },
);
