/** Hot path: once per request. Budget 60 µs for a chat of a few turns. Bench: bench/http/parse-body.bench.ts */
import { type RequestId, ServingError } from "@baton/protocol";
import type { z } from "zod";
import type {
  ChatMessage,
  Prompt,
  ServingRequest,
  WantedOutput,
} from "../request/serving-request.ts";
import { queryForm, readRouting } from "./read-routing.ts";
import {
  type BodyMessage,
  type ChatBody,
  type CompletionBody,
  chatBodySchema,
  completionBodySchema,
} from "./request-schema.ts";
import type { RequestHeaders } from "./routing-headers.ts";
import { refuseUnservedFields } from "./unserved-fields.ts";

/** The two endpoints that generate. */
export type Endpoint = "chat" | "completions";

/** What of a request concerns the answer's form only. */
export interface AnswerWish {
  readonly stream: boolean;
  readonly includeUsage: boolean;
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
  readonly request: ServingRequest;
  readonly wish: AnswerWish;
  /** Set where the request only asks where it would go: the form in which it asked. */
  readonly query: "baton" | "nvext" | null;
}

/**
 * Reads a body, and what the headers add to it. Throws `invalid_request` or `unsupported` with the field or header at
 * fault in `param`.
 */
export function parseBody(
  endpoint: Endpoint,
  raw: unknown,
  frame: RequestFrame,
  headers: RequestHeaders = {},
): ParsedBody {
  const body = onePrompt(withoutNulls(raw));
  refuseUnservedFields(body);
  refuseTooMuch(body);
  const parsed =
    endpoint === "chat"
      ? readChat(check(chatBodySchema, body))
      : readCompletion(check(completionBodySchema, body));
  const { fields, prompt, logprobs, maxTokens } = parsed;
  const request: ServingRequest = {
    ...frame,
    model: fields.model,
    prompt,
    output: wantedOutput(fields, maxTokens, logprobs),
    stop: typeof fields.stop === "string" ? [fields.stop] : (fields.stop ?? []),
    ...set("routing", readRouting(fields, headers)),
  };
  return { request, wish: answerWish(fields), query: queryForm(fields) };
}

type SharedFields = Omit<ChatBody, "messages" | "logprobs">;

interface ReadBody {
  readonly fields: SharedFields;
  readonly prompt: Prompt;
  /** Alternatives per token; null for none at all. */
  readonly logprobs: number | null;
  readonly maxTokens: number | null;
}

function readChat(body: ChatBody): ReadBody {
  if (body.top_logprobs !== undefined && body.logprobs !== true) {
    throw invalid("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  return {
    fields: body,
    prompt: { kind: "chat", messages: body.messages.map(readMessage) },
    logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : null,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
  };
}

function readCompletion(body: CompletionBody): ReadBody {
  const { prompt, logprobs, ...fields } = body;
  return {
    fields,
    prompt:
      typeof prompt === "string"
        ? { kind: "text", text: prompt }
        : { kind: "tokens", tokens: Uint32Array.from(prompt) },
    logprobs: logprobs ?? null,
    maxTokens: body.max_tokens ?? null,
  };
}

function readMessage(message: BodyMessage, index: number): ChatMessage {
  const at = `messages[${index}]`;
  for (const field of ["tool_calls", "function_call", "audio"]) {
    const value = message[field];
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) {
      continue;
    }
    const problem = `${at}.${field} is not supported here`;
    throw new ServingError("unsupported", { param: `${at}.${field}`, problem });
  }
  return {
    // Templates know the system's turn by its older name.
    role: message.role === "developer" ? "system" : message.role,
    content: contentText(message.content ?? "", at),
    ...(typeof message.name === "string" ? { name: message.name } : {}),
  };
}

function contentText(content: NonNullable<BodyMessage["content"]>, at: string): string {
  if (typeof content === "string") return content;
  const texts = content.map((part, index) => {
    if (part.type === "text" && typeof part.text === "string") return part.text;
    const param = `${at}.content[${index}]`;
    if (part.type === "text") throw invalid(`${param}.text`, `${param}.text must be a string`);
    const problem = `${param} is of type '${part.type}'; only text is supported here`;
    throw new ServingError("unsupported", { param, problem });
  });
  return texts.join("\n");
}

function wantedOutput(
  fields: SharedFields,
  maxTokens: number | null,
  logprobs: number | null,
): WantedOutput {
  const minTokens = fields.min_tokens;
  if (minTokens !== undefined && maxTokens !== null && minTokens > maxTokens) {
    throw invalid("min_tokens", "min_tokens must not be above max_tokens");
  }
  return {
    maxTokens,
    n: fields.n ?? 1,
    ...set("minTokens", unless(0, minTokens)),
    ...set("temperature", fields.temperature),
    ...set("topP", unless(1, fields.top_p)),
    ...set("topK", fields.top_k !== undefined && fields.top_k > 0 ? fields.top_k : undefined),
    ...set("minP", unless(0, fields.min_p)),
    ...set("presencePenalty", unless(0, fields.presence_penalty)),
    ...set("frequencyPenalty", unless(0, fields.frequency_penalty)),
    ...set("repetitionPenalty", unless(1, fields.repetition_penalty)),
    ...set("seed", fields.seed === undefined ? undefined : seedOf(fields.seed)),
    ...set("stopTokenIds", fields.stop_token_ids?.length ? fields.stop_token_ids : undefined),
    ...set("ignoreEos", fields.ignore_eos === true ? true : undefined),
    ...set("logitBias", hasKeys(fields.logit_bias) ? fields.logit_bias : undefined),
    ...set("logprobs", logprobs ?? undefined),
  };
}

function answerWish(fields: SharedFields): AnswerWish {
  const stream = fields.stream ?? false;
  if (!stream && fields.stream_options !== undefined) {
    throw invalid("stream_options", "stream_options needs stream to be true");
  }
  const include = fields.baton?.include ?? [];
  const extra = fields.nvext?.extra_fields ?? [];
  return {
    stream,
    includeUsage: fields.stream_options?.include_usage === true,
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

/** Clients write null for what they do not set. */
function withoutNulls(raw: unknown): Readonly<Record<string, unknown>> {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw new ServingError("invalid_request", { problem: "the body must be a JSON object" });
  }
  return Object.fromEntries(Object.entries(raw).filter(([, value]) => (value ?? null) !== null));
}

/** A list of one prompt is that prompt; of several it is several requests, which clients send apart. */
function onePrompt(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { prompt } = body;
  if (!Array.isArray(prompt) || typeof prompt[0] === "number") return body;
  if (prompt.length === 1) return { ...body, prompt: prompt[0] };
  if (prompt.length === 0) return body;
  const problem = "prompt must be one prompt; a list of several is not supported here";
  throw new ServingError("unsupported", { param: "prompt", problem });
}

/** Most values in a body's lists and maps, the prompt's tokens aside. The schema's work is bounded by it. */
const maxValues = 65_536;
const maxDepth = 8;

function refuseTooMuch(body: Readonly<Record<string, unknown>>): void {
  let left = maxValues;
  const count = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || left < 0) return;
    const values = Object.values(value);
    left -= values.length;
    if (depth < maxDepth) for (const one of values) count(one, depth + 1);
  };
  for (const [field, value] of Object.entries(body)) {
    if (field !== "prompt") count(value, 0);
    if (left < 0) throw invalid(field, `${field} holds more than ${maxValues} values`);
  }
}

function check<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue?.code === "unrecognized_keys") {
    const param = [...issue.path, issue.keys[0] ?? ""].join(".");
    throw invalid(param, `${param} is not known`);
  }
  const param = fieldName(issue?.path ?? []);
  throw invalid(param, `${param} ${missing(issue, body) ? "is required" : issue?.message}`);
}

function missing(issue: z.core.$ZodIssue | undefined, body: unknown): boolean {
  if (issue === undefined || issue.path.length === 0) return false;
  let holder: unknown = body;
  for (const part of issue.path.slice(0, -1))
    holder = (holder as Record<PropertyKey, unknown>)[part];
  return (
    typeof holder === "object" && holder !== null && !Object.hasOwn(holder, issue.path.at(-1) ?? "")
  );
}

/** `messages[0].content`, as a client's author would write it. */
function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, "");
}

function invalid(param: string, problem: string): ServingError {
  return new ServingError("invalid_request", { param, problem });
}
