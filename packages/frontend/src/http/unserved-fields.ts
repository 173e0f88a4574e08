import { ServingError } from "@baton/protocol";

/** Says whether a value asks for what is the case anyway. */
type IsNeutral = (value: unknown) => boolean;

const never: IsNeutral = () => false;
const is =
  (...neutral: readonly unknown[]): IsNeutral =>
  (value) =>
    neutral.includes(value);
const isEmpty: IsNeutral = (value) =>
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Fields that would change the answer and are not served: ignoring one would be a wrong answer. */
const unservedFields: Readonly<Record<string, IsNeutral>> = {
  tools: isEmpty,
  tool_choice: is("none", "auto"),
  functions: isEmpty,
  function_call: is("none", "auto"),
  response_format: (value) =>
    typeof value === "object" && value !== null && "type" in value && value.type === "text",
  modalities: (value) => Array.isArray(value) && value.every((one) => one === "text"),
  audio: never,
  prediction: never,
  web_search_options: never,
  reasoning_effort: never,
  reasoning: never,
  verbosity: never,
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never,
  structured_outputs: never,
  grammar: never,
  suffix: is(""),
  echo: is(false),
  best_of: is(1),
  use_beam_search: is(false),
  length_penalty: is(1),
  prompt_logprobs: is(false),
  include_stop_str_in_output: is(false),
  skip_special_tokens: is(true),
  spaces_between_special_tokens: is(true),
  add_generation_prompt: is(true),
  add_special_tokens: is(false, true),
  continue_final_message: is(false),
  chat_template: never,
  chat_template_kwargs: isEmpty,
  documents: isEmpty,
  mm_processor_kwargs: isEmpty,
  logits_processors: isEmpty,
  truncate_prompt_tokens: never,
  allowed_token_ids: isEmpty,
  bad_words: isEmpty,
  typical_p: is(1),
  lora: never,
};

/** The same for `nvext`: what has no meaning here and would change the answer, or an effect elsewhere. */
const unservedNvextFields: Readonly<Record<string, IsNeutral>> = {
  greed_sampling: is(false),
  use_raw_prompt: is(false),
  token_data: isEmpty,
  max_thinking_tokens: never,
  metadata_upload: never,
};

/** Fields that carry a handoff between our own actors: nobody else may set them. */
const handoffFields: ReadonlySet<string> = new Set([
  "kv_transfer_params",
  "disaggregated_params",
  "kv_handoff",
  "handoff",
]);

/** Throws `unsupported` or `invalid_request` for the first field that is not to be set. */
export function refuseUnservedFields(body: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(body)) {
    if (handoffFields.has(field) || field.startsWith("bootstrap_")) {
      const problem = `${field} is set between the workers and not by clients`;
      throw new ServingError("invalid_request", { param: field, problem });
    }
    refuseUnserved(unservedFields, field, value, field);
  }
  const { nvext } = body;
  if (typeof nvext !== "object" || nvext === null) return;
  for (const [field, value] of Object.entries(nvext)) {
    refuseUnserved(unservedNvextFields, field, value, `nvext.${field}`);
  }
}

function refuseUnserved(
  table: Readonly<Record<string, IsNeutral>>,
  field: string,
  value: unknown,
  param: string,
): void {
  const isNeutral = Object.hasOwn(table, field) ? table[field] : undefined;
  if (isNeutral === undefined || value === null || isNeutral(value)) return;
  throw new ServingError("unsupported", { param, problem: `${param} is not supported here` });
}
