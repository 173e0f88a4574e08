import type { Cluster } from "../../support/processes/index.ts";
import { model } from "./client-cluster.ts";
import type { Json, OpenAiCall, OpenAiClient, Outcome } from "./openai-client.ts";

/** What a suite of an `openai` package stands on. */
export interface OpenAiParts {
  readonly cluster: () => Cluster;
  readonly client: () => OpenAiClient;
  /** What the package calls the error of a request that took too long. */
  readonly timeoutError: string;
}

type Ask = (body?: object, more?: Partial<OpenAiCall>) => Promise<Outcome>;

/** Calls that suites of `openai` packages make. */
export interface OpenAiCalls {
  /** A method with a body. */
  readonly call: (method: string, body: object, more?: Partial<OpenAiCall>) => Promise<Outcome>;
  /** A short chat, but for what `body` says. */
  readonly chat: Ask;
  /** A short text completion, but for what `body` says. */
  readonly complete: Ask;
}

/** The prompt of the calls. */
export const prompt = "Which way to the relay?";
const messages = [{ role: "user", content: prompt }];

/** Calls of one package against one cluster, without retries unless they are asked for. */
export function openAiCalls({ cluster, client }: OpenAiParts): OpenAiCalls {
  const call: OpenAiCalls["call"] = (method, body, more = {}) =>
    client().call({ api: cluster().api, method, body: { ...body }, ...more });
  const short = { model, max_tokens: 12, temperature: 0 };
  return {
    call,
    chat: (body, more) => call("chat.completions.create", { ...short, messages, ...body }, more),
    complete: (body, more) => call("completions.create", { ...short, prompt, ...body }, more),
  };
}

/** The text of a choice of a chat's stream. */
export function chatText(chunks: readonly Json[] | undefined, choice = 0): string {
  return (chunks ?? [])
    .flatMap(({ choices }) => choices.filter(({ index }: Json) => index === choice))
    .map(({ delta }) => delta.content ?? "")
    .join("");
}
