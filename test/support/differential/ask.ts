import type { Body, GenerationPath } from "./planned-body.ts";

/** One choice as a client puts it together. */
export interface GatheredChoice {
  text: string;
  ids: number[];
  /** One for each token that has log-probabilities, the prompt's first where it is echoed. */
  logprobs: unknown[];
  promptLogprobs: unknown;
  finish: string | null;
}

/** An answer, whichever way it came. */
export interface GatheredAnswer {
  readonly choices: readonly GatheredChoice[];
  readonly promptLogprobs: unknown;
  /** Null in a stream that was not asked for it. */
  readonly usage: Usage | null;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
}

interface JsonChoice {
  readonly index: number;
  readonly text?: string;
  readonly token_ids?: readonly number[];
  readonly message?: { readonly role: string; readonly content: string };
  readonly delta?: { readonly role?: string; readonly content?: string };
  readonly logprobs: Readonly<Record<string, unknown>> | null;
  readonly prompt_logprobs?: unknown;
  readonly finish_reason: string | null;
}

interface JsonAnswer {
  readonly id?: string;
  readonly request_id?: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly JsonChoice[];
  readonly prompt_logprobs?: unknown;
  readonly usage?: Usage | null;
}

/** Posts a body. Rejects where the answer is none. */
export async function askWhole(
  api: string,
  path: GenerationPath,
  body: Body,
): Promise<GatheredAnswer> {
  const {
    choices,
    prompt_logprobs: promptLogprobs,
    usage,
  } = await postJson<JsonAnswer>(`${api}${path}`, body);
  const gathered = gather(choices);
  return { choices: gathered, promptLogprobs: promptLogprobs ?? null, usage: usage ?? null };
}

/** Posts a body and reads the answer as JSON. Rejects for any status but 200. */
export async function postJson<T>(url: string, body: Body): Promise<T> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
  return JSON.parse(text) as T;
}

/** The same as a stream of events. Rejects where it is no stream, or none as streams should be. */
export async function askStream(
  api: string,
  path: GenerationPath,
  body: Body,
): Promise<GatheredAnswer> {
  const answer = await fetch(`${api}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status}: ${text}`);
  const events = text.split("\n\n");
  must(events.pop() === "", "the last event is whole");
  must(events.pop() === "data: [DONE]", "the last event says that it is the last");
  const chunks = events.map((event) => {
    must(event.startsWith("data: "), `an event is data and nothing else: ${event}`);
    return JSON.parse(event.slice(6)) as JsonAnswer;
  });
  const isUsageWanted = (body.stream_options as Body | undefined)?.include_usage === true;
  const usage = isUsageWanted ? usageOf(chunks, body.stream_options as Body) : null;
  if (!isUsageWanted) {
    must(!chunks.some((chunk) => "usage" in chunk), "usage comes only where it is asked for");
    must(!chunks.some(({ choices }) => choices.length === 0), "no event is empty");
  }
  checkHeads(chunks);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  checkDeltas(choices, path);
  return { choices: gather(choices), promptLogprobs: null, usage };
}

function usageOf(chunks: readonly JsonAnswer[], options: Body): Usage {
  const last = chunks.at(-1);
  const usage = last?.usage;
  if (!usage || last.choices.length > 0) throw new Error("usage is the last event's, alone");
  let outputTokens = 0;
  for (const chunk of chunks.slice(0, -1)) {
    must(chunk.choices.length === 1, "an event has one choice");
    if (options.continuous_usage_stats !== true) {
      must(chunk.usage === null, "usage is null before the last event");
      continue;
    }
    must((chunk.usage?.completion_tokens ?? -1) >= outputTokens, "usage never shrinks");
    outputTokens = chunk.usage?.completion_tokens ?? 0;
  }
  if (options.continuous_usage_stats === true) {
    must(outputTokens === usage.completion_tokens, "the last usage is what was used so far");
  }
  return usage;
}

function checkHeads(chunks: readonly JsonAnswer[]): void {
  const heads = chunks.map(({ created, id, model, request_id }) =>
    JSON.stringify([id, request_id, created, model]),
  );
  must(new Set(heads).size === 1, "every event has the same head");
}

function checkDeltas(all: readonly JsonChoice[], path: GenerationPath): void {
  for (const index of new Set(all.map((choice) => choice.index))) {
    const parts = all.filter((choice) => choice.index === index);
    const ends = parts.filter(({ finish_reason: reason }) => reason !== null);
    must(ends.length === 1 && ends[0] === parts.at(-1), "a choice ends once, and last");
    const roles = parts.map(({ delta }) => delta?.role);
    const first = path === "/v1/chat/completions" ? "assistant" : undefined;
    must(roles[0] === first, "the first delta has the role");
    must(!roles.slice(1).some((role) => role !== undefined), "no later delta has the role");
  }
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not so: ${what}`);
}

function gather(choices: readonly JsonChoice[]): GatheredChoice[] {
  const all: GatheredChoice[] = [];
  for (const choice of choices) {
    all[choice.index] ??= { text: "", ids: [], logprobs: [], promptLogprobs: null, finish: null };
    const one = all[choice.index] as GatheredChoice;
    one.text += choice.text ?? choice.message?.content ?? choice.delta?.content ?? "";
    one.ids.push(...(choice.token_ids ?? []));
    one.logprobs.push(...rows(choice.logprobs));
    one.promptLogprobs = choice.prompt_logprobs ?? one.promptLogprobs;
    one.finish = choice.finish_reason ?? one.finish;
  }
  return all;
}

/** The log-probabilities by token, in whichever form they come. */
function rows(logprobs: JsonChoice["logprobs"]): readonly unknown[] {
  if (logprobs === null) return [];
  const { content, refusal, ...columns } = logprobs;
  if (Array.isArray(content)) return content;
  const lists = Object.values(columns) as (readonly unknown[])[];
  return (lists[0] ?? []).map((_, at) => lists.map((list) => list[at]));
}
