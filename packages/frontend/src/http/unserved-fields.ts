import { ServingError } from "@baton/protocol";
import type { RawBody } from "./check-body.ts";
import type { Endpoint } from "./parse-body.ts";

/** The bodies that are checked. */
export type BodyKind = Endpoint | "tokenize";

/** Says whether a value asks for what is the case anyway. */
type IsNeutral = (value: unknown) => boolean;
type FieldTable = Readonly<Record<string, IsNeutral>>;

const never: IsNeutral = () => false;
const is =
  (...neutral: readonly unknown[]): IsNeutral =>
  (value) =>
    neutral.includes(value);
const isEmptyList: IsNeutral = (value) => Array.isArray(value) && value.length === 0;
const isEmptyMap: IsNeutral = (value) =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.keys(value).length === 0;

/** How the output is made, in the words of engines that do more. */
const unservedSampling: FieldTable = {
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never,
  guided_decoding_backend: never,
  structured_outputs: never,
  structural_tag: never,
  grammar: never,
  use_beam_search: is(false),
  length_penalty: is(1),
  early_stopping: is(false),
  include_stop_str_in_output: is(false),
  skip_special_tokens: is(true),
  spaces_between_special_tokens: is(true),
  truncate_prompt_tokens: never,
  allowed_token_ids: isEmptyList,
  bad_words: isEmptyList,
  logits_processors: isEmptyList,
  logprob_token_ids: isEmptyList,
  repetition_detection: never,
  thinking_token_budget: never,
  typical_p: is(1),
  vllm_xargs: isEmptyMap,
  extra_args: isEmptyMap,
};

/** Fields that would change the answer and are not served: ignoring one would be a wrong answer. */
const unservedFields: FieldTable = {
  ...unservedSampling,
  tools: isEmptyList,
  tool_choice: is("none", "auto"),
  functions: isEmptyList,
  function_call: is("none", "auto"),
  modalities: (value) => Array.isArray(value) && value.every((one) => one === "text"),
  audio: never,
  prediction: never,
  web_search_options: never,
  reasoning_effort: never,
  reasoning: never,
  verbosity: never,
  return_token_ids: is(false),
  return_tokens_as_token_ids: is(false),
  continue_final_message: is(false),
  chat_template: never,
  chat_template_kwargs: isEmptyMap,
  documents: isEmptyList,
  mm_processor_kwargs: isEmptyMap,
  media_io_kwargs: isEmptyMap,
  prompt_embeds: isEmptyList,
  features: isEmptyMap,
  priority: is(0),
  lora: never,
};

/** What is served elsewhere, or has another neutral value there. */
const unservedAt: Readonly<Record<BodyKind, FieldTable>> = {
  chat: {
    add_special_tokens: is(false),
    add_generation_prompt: is(true),
    best_of: is(1),
    echo: is(false),
    suffix: is(""),
  },
  completions: { add_special_tokens: is(true), suffix: is("") },
  generate: { echo: is(false), response_format: never },
  tokenize: {},
};

/** The same for `nvext`: what has no meaning here and would change the answer, or an effect elsewhere. */
const unservedNvextFields: FieldTable = {
  greed_sampling: is(false),
  use_raw_prompt: is(false),
  token_data: isEmptyList,
  max_thinking_tokens: never,
  metadata_upload: never,
};

/** Fields that carry a handoff between our own actors: nobody else may set them. */
const handoffFields: ReadonlySet<string> = new Set([
  "kv_transfer_params",
  "ec_transfer_params",
  "disaggregated_params",
  "kv_handoff",
  "handoff",
]);

/** Throws `unsupported` or `invalid_request` for the first field that is not to be set. */
export function refuseUnservedFields(endpoint: BodyKind, body: RawBody): void {
  const at = unservedAt[endpoint];
  for (const [field, value] of Object.entries(body)) {
    refuseHandoff(field, field);
    refuseUnserved(unservedFields, field, value, field);
    refuseUnserved(at, field, value, field);
  }
  refuseWithin(body, "nvext", unservedNvextFields);
  if (endpoint === "generate") refuseWithin(body, "sampling_params", unservedSampling);
}

/** Sampling parameters without those that are not served: what is left of them says what is the case anyway. */
export function withoutUnservedSampling(body: RawBody): RawBody {
  const sampling = body.sampling_params;
  if (typeof sampling !== "object" || sampling === null || Array.isArray(sampling)) return body;
  const served = Object.entries(sampling).filter(
    ([field]) => !Object.hasOwn(unservedSampling, field),
  );
  return { ...body, sampling_params: Object.fromEntries(served) };
}

function refuseWithin(body: RawBody, name: string, table: FieldTable): void {
  const object = body[name];
  if (typeof object !== "object" || object === null) return;
  for (const [field, value] of Object.entries(object)) {
    refuseHandoff(field, `${name}.${field}`);
    if (field === "extra_args" && typeof value === "object" && value !== null) {
      for (const inner of Object.keys(value)) refuseHandoff(inner, `${name}.${field}.${inner}`);
    }
    refuseUnserved(table, field, value, `${name}.${field}`);
  }
}

function refuseHandoff(field: string, param: string): void {
  if (!handoffFields.has(field) && !field.startsWith("bootstrap_")) return;
  const problem = `${param} is set between the workers and not by clients`;
  throw new ServingError("invalid_request", { param, problem });
}

function refuseUnserved(table: FieldTable, field: string, value: unknown, param: string): void {
  const isNeutral = Object.hasOwn(table, field) ? table[field] : undefined;
  if (isNeutral === undefined || value === null || isNeutral(value)) return;
  throw new ServingError("unsupported", { param, problem: `${param} is not supported here` });
}
