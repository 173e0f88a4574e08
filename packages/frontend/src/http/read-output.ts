import type { WantedOutput } from "../request/serving-request.ts";
import { invalid } from "./check-body.ts";
import type { GenerateBody } from "./request-schema.ts";
import type { ResponseFormat } from "./response-format-schema.ts";

type SamplingFields = Omit<
  NonNullable<GenerateBody["sampling_params"]>,
  "max_tokens" | "logprobs" | "prompt_logprobs" | "detokenize"
>;

/** What of the wanted output the endpoints say in words of their own. */
export interface OutputWords {
  readonly fields: SamplingFields;
  readonly maxTokens: number | null;
  /** Alternatives per token; undefined for none at all. */
  readonly logprobs: number | undefined;
  readonly promptLogprobs: number | undefined;
  readonly format: ResponseFormat | undefined;
  /** What stands before the names of the fields. */
  readonly prefix: string;
}

/** As small as 32 bits take it: only the likeliest token is left. */
const leastTopP = 1e-9;

/** The output that a body asks for; what it says that is the case anyway is left out. Throws `invalid_request`. */
export function readOutput(words: OutputWords): WantedOutput {
  const { fields, maxTokens, prefix } = words;
  const minTokens = fields.min_tokens;
  if (minTokens !== undefined && maxTokens !== null && minTokens > maxTokens) {
    const param = `${prefix}min_tokens`;
    throw invalid(param, `${param} must not be above max_tokens`);
  }
  const topP = fields.top_p === undefined ? undefined : Math.max(fields.top_p, leastTopP);
  return {
    maxTokens,
    n: fields.n ?? 1,
    ...set("minTokens", unless(0, minTokens)),
    ...set("temperature", fields.temperature),
    ...set("topP", unless(1, topP)),
    ...set("topK", fields.top_k !== undefined && fields.top_k > 0 ? fields.top_k : undefined),
    ...set("minP", unless(0, fields.min_p)),
    ...set("presencePenalty", unless(0, fields.presence_penalty)),
    ...set("frequencyPenalty", unless(0, fields.frequency_penalty)),
    ...set("repetitionPenalty", unless(1, fields.repetition_penalty)),
    ...set("seed", fields.seed === undefined ? undefined : seedOf(fields.seed)),
    ...set("stopTokenIds", fields.stop_token_ids?.length ? fields.stop_token_ids : undefined),
    ...set("ignoreEos", fields.ignore_eos === true ? true : undefined),
    ...set("logitBias", hasKeys(fields.logit_bias) ? fields.logit_bias : undefined),
    ...set("logprobs", words.logprobs),
    ...set("promptLogprobs", words.promptLogprobs),
    ...set("grammar", grammarOf(words.format)),
  };
}

/** The texts that end a choice. */
export function readStops({ stop }: SamplingFields): readonly string[] {
  return typeof stop === "string" ? [stop] : (stop ?? []);
}

function grammarOf(format: ResponseFormat | undefined): WantedOutput["grammar"] {
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json_object") return { kind: "json" };
  return { kind: "json_schema", schema: JSON.stringify(format.json_schema?.schema) };
}

/** A field that is there only if it has a value. */
function set<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}

function unless(neutral: number, value: number | undefined): number | undefined {
  return value === neutral ? undefined : value;
}

function hasKeys(value: object | undefined): boolean {
  return value !== undefined && Object.keys(value).length > 0;
}

/** Engines take 32 bits; a client's 64-bit or negative seed still stands for one generation. */
function seedOf(seed: number): number {
  return ((seed % 2 ** 32) + 2 ** 32) % 2 ** 32;
}
