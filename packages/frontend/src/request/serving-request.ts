import type { GenerationParams, RequestId } from "@baton/protocol";

/** One message of a chat, its parts already joined into one text. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly name?: string;
}

/** What a client wants continued. */
export type Prompt =
  | { readonly kind: "chat"; readonly messages: readonly ChatMessage[] }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokens: Uint32Array };

/** The output that a client wants. `maxTokens` is null if it did not say: then as much as fits. */
export type WantedOutput = Omit<GenerationParams, "maxTokens" | "n"> & {
  readonly maxTokens: number | null;
  readonly n: number;
};

/** A request that is checked as far as its fields go, whoever sent it: what the request port takes. */
export interface ServingRequest {
  readonly requestId: RequestId;
  readonly model: string;
  readonly prompt: Prompt;
  readonly output: WantedOutput;
  /** Texts that end a choice, none of them empty. They are not returned. */
  readonly stop: readonly string[];
  /** The client's own `x-request-id`. */
  readonly clientRequestId: string | null;
  /** W3C `traceparent` of the client. */
  readonly traceparent: string | null;
}
