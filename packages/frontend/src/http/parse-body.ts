/** Hot path: once per request. Budget 60 µs for a chat of a few turns. Bench: bench/http/parse-body.bench.ts */
import { type RequestId, requestId, ServingError } from "@baton/protocol";
import type { Prompt, ServingRequest, WantedOutput } from "../request/serving-request.ts";
import type { BodyLimits } from "./body-limits.ts";
import {
  check,
  fieldWithoutNulls,
  invalid,
  type RawBody,
  refuseTooMuch,
  withoutNulls,
} from "./check-body.ts";
import type { BodyPrompts } from "./prompt-schema.ts";
import { readMessages } from "./read-messages.ts";
import { readOutput, readStops } from "./read-output.ts";
import { queryForm, readRouting } from "./read-routing.ts";
import {
  type BodySchemas,
  bodySchemas,
  type ChatBody,
  type CompletionBody,
  type GenerateBody,
} from "./request-schema.ts";
import type { RequestHeaders } from "./routing-headers.ts";
import { refuseUnservedFields, withoutUnservedSampling } from "./unserved-fields.ts";

/** The endpoints that generate. */
export type Endpoint = "chat" | "completions" | "generate";

/** What of a request concerns the answer's form only. */
export interface AnswerWish {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Whether each event of a stream says what was used so far. */
  readonly continuousUsage: boolean;
  /** Whether the prompt stands before the answer. */
  readonly echo: boolean;
  /** Whether the prompt is all that is wanted: the one token that engines cannot do without is left out. */
  readonly echoOnly: boolean;
  readonly includePromptLogprobs: boolean;
  readonly includeRoute: boolean;
  readonly includeTiming: boolean;
  /** The two parts of an `nvext` object in the answer. */
  readonly includeWorkerIds: boolean;
  readonly includeNvextTiming: boolean;
}

/** What comes with a request beside its body. */
export interface RequestFrame {
  readonly requestId: RequestId;
  readonly clientRequestId: string | null;
  readonly traceparent: string | null;
}

/** A body that was taken. */
export interface ParsedBody {
  /** One for each prompt. */
  readonly requests: readonly [ServingRequest, ...ServingRequest[]];
  readonly wish: AnswerWish;
  /** Set where the request only asks where it would go: the form in which it asked. */
  readonly query: "baton" | "nvext" | null;
}

/** What a body says, in the words of all endpoints. */
interface ReadBody {
  readonly model: string;
  readonly prompts: readonly [Prompt, ...Prompt[]];
  readonly output: WantedOutput;
  readonly stop: readonly string[];
  readonly wish: Pick<AnswerWish, "echo" | "echoOnly" | "includePromptLogprobs">;
  /** The client's id in the body. */
  readonly clientRequestId?: string;
  readonly fields: Pick<
    GenerateBody,
    "stream" | "stream_options" | "cache_salt" | "baton" | "nvext"
  >;
}

/** The only model that is served, for a body that may leave it out; null if there is not just one. */
export type OnlyModel = () => string | null;

/** How many tokens a completion has whose body does not say, as OpenAI has it. */
const defaultCompletionTokens = 16;

/** Reads the bodies of the endpoints that generate. */
export class BodyParser {
  /** The schemas that bodies are checked by. */
  readonly schemas: BodySchemas;
  readonly #onlyModel: OnlyModel;

  constructor(limits: BodyLimits, onlyModel: OnlyModel = () => null) {
    this.schemas = bodySchemas(limits);
    this.#onlyModel = onlyModel;
  }

  /**
   * Reads a body, and what the headers add to it. Throws `invalid_request` or `unsupported` with the field or header at
   * fault in `param`.
   */
  parse(
    endpoint: Endpoint,
    raw: unknown,
    frame: RequestFrame,
    headers: RequestHeaders = {},
  ): ParsedBody {
    const body = this.#read(endpoint, withoutNulls(raw));
    const { fields, model, output, stop, prompts } = body;
    const wish = answerWish(body);
    const query = queryForm(fields);
    if (query !== null && prompts.length > 1) {
      throw invalid("prompt", "prompt must be one prompt where only the route is asked for");
    }
    const returnsTokens = endpoint === "generate";
    const shared = {
      ...frame,
      clientRequestId: body.clientRequestId ?? frame.clientRequestId,
      model,
      output,
      stop,
      ...(wish.echo || returnsTokens
        ? { returns: { promptText: wish.echo, tokens: returnsTokens } }
        : {}),
      ...set("routing", readRouting(fields, headers)),
    };
    const [first, ...others] = prompts;
    const requests: ParsedBody["requests"] = [
      { ...shared, prompt: first },
      ...others.map((prompt, index) => ({
        ...shared,
        requestId: requestId(`${frame.requestId}-${index + 1}`),
        prompt,
      })),
    ];
    return { requests, wish, query };
  }

  #read(endpoint: Endpoint, body: RawBody): ReadBody {
    const whole = endpoint === "generate" ? fieldWithoutNulls(body, "sampling_params") : body;
    refuseUnservedFields(endpoint, whole);
    refuseTooMuch(whole);
    switch (endpoint) {
      case "chat":
        return readChat(check(this.schemas.chat, whole));
      case "completions":
        return readCompletion(check(this.schemas.completions, whole));
      case "generate":
        return this.#readGenerate(check(this.schemas.generate, withoutUnservedSampling(whole)));
    }
  }

  #readGenerate(body: GenerateBody): ReadBody {
    const { token_ids: ids, sampling_params: sampling = {} } = body;
    const model = body.model ?? this.#onlyModel();
    if (model === null) throw invalid("model", "model is required");
    return {
      fields: body,
      model,
      prompts: [{ kind: "tokens", tokens: Uint32Array.from(ids) }],
      output: readOutput({
        fields: sampling,
        maxTokens: sampling.max_tokens ?? null,
        logprobs: sampling.logprobs,
        promptLogprobs: sampling.prompt_logprobs,
        format: undefined,
        prefix: "sampling_params.",
      }),
      stop: readStops(sampling),
      wish: wishOf(sampling.prompt_logprobs),
      ...set("clientRequestId", body.request_id),
    };
  }
}

function readChat(body: ChatBody): ReadBody {
  if ((body.top_logprobs ?? 0) > 0 && body.logprobs !== true) {
    throw invalid("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  return {
    fields: body,
    model: body.model,
    prompts: [{ kind: "chat", messages: readMessages(body.messages) }],
    output: readOutput({
      fields: body,
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
      logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : undefined,
      promptLogprobs: body.prompt_logprobs,
      format: body.response_format,
      prefix: "",
    }),
    stop: readStops(body),
    wish: wishOf(body.prompt_logprobs),
  };
}

function readCompletion(body: CompletionBody): ReadBody {
  refuseBestOf(body);
  const echo = body.echo === true;
  const maxTokens = body.max_tokens ?? defaultCompletionTokens;
  if (maxTokens === 0 && !echo) {
    throw invalid("max_tokens", "max_tokens must be at least 1 unless echo is true");
  }
  return {
    fields: body,
    model: body.model,
    prompts: readPrompts(body.prompt),
    output: readOutput({
      fields: body,
      maxTokens: Math.max(1, maxTokens),
      logprobs: body.logprobs,
      promptLogprobs: body.prompt_logprobs ?? (echo ? body.logprobs : undefined),
      format: body.response_format,
      prefix: "",
    }),
    stop: readStops(body),
    wish: { ...wishOf(body.prompt_logprobs), echo, echoOnly: maxTokens === 0 },
  };
}

function refuseBestOf({ best_of: bestOf, n = 1 }: CompletionBody): void {
  if (bestOf === undefined || bestOf === n) return;
  const problem =
    "best_of is not supported here: ask for as many choices with n, and choose by their logprobs";
  throw new ServingError("unsupported", { param: "best_of", problem });
}

function readPrompts(prompt: BodyPrompts): ReadBody["prompts"] {
  const all =
    typeof prompt === "string" || typeof prompt[0] === "number"
      ? [prompt as string | readonly number[]]
      : (prompt as readonly (string | readonly number[])[]);
  // The schema takes no empty list.
  return all.map(readPrompt) as readonly Prompt[] as ReadBody["prompts"];
}

function readPrompt(prompt: string | readonly number[]): Prompt {
  return typeof prompt === "string"
    ? { kind: "text", text: prompt }
    : { kind: "tokens", tokens: Uint32Array.from(prompt) };
}

function wishOf(promptLogprobs: number | undefined): ReadBody["wish"] {
  return { echo: false, echoOnly: false, includePromptLogprobs: promptLogprobs !== undefined };
}

function answerWish({ fields, wish }: ReadBody): AnswerWish {
  const stream = fields.stream ?? false;
  const options = fields.stream_options;
  if (!stream && options !== undefined) {
    throw invalid("stream_options", "stream_options needs stream to be true");
  }
  if (stream && wish.includePromptLogprobs) {
    throw invalid("prompt_logprobs", "prompt_logprobs needs stream to be false");
  }
  const includeUsage = options?.include_usage === true;
  const continuousUsage = options?.continuous_usage_stats === true;
  if (continuousUsage && !includeUsage) {
    const param = "stream_options.continuous_usage_stats";
    throw invalid(param, `${param} needs include_usage to be true`);
  }
  const include = fields.baton?.include ?? [];
  const extra = fields.nvext?.extra_fields ?? [];
  return {
    ...wish,
    stream,
    includeUsage,
    continuousUsage,
    includeRoute: include.includes("route"),
    includeTiming: include.includes("timing"),
    includeWorkerIds: extra.includes("worker_id"),
    includeNvextTiming: extra.includes("timing"),
  };
}

/** A field that is there only if it has a value. */
function set<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
