import type { GenerationParams, RequestId, RoutingRules } from "@baton/protocol";
import type { RequestGroup } from "./request-group.ts";

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

/** What a request says about where it goes. */
export interface RoutingWish {
  /** For the routers; null if it says nothing to them. */
  readonly rules: RoutingRules | null;
  /** The tenant whose caches it uses; null for the shared ones. */
  readonly cacheSalt: string | null;
  /** Where each pin was said, in the client's words. */
  readonly said: Readonly<Partial<Record<PinRule, string>>>;
  /** Fields that are set and have no effect, in the client's words. */
  readonly ignored: readonly string[];
}

/** The rules that name a worker or a rank of one. */
export type PinRule = "prefillWorkerId" | "prefillDpRank" | "decodeWorkerId" | "decodeDpRank";

/** What an answer holds beside its text. */
export interface ReturnedParts {
  /** The prompt as text. */
  readonly promptText: boolean;
  /** The output's token ids, and the log-probabilities of a token that ends it. */
  readonly tokens: boolean;
}

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
  /** Absent: text alone. */
  readonly returns?: ReturnedParts;
  /** Absent if it says nothing about where it goes. */
  readonly routing?: RoutingWish;
  /** The requests that it stands or falls with; absent if it is alone. */
  readonly group?: RequestGroup;
}
