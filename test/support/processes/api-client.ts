import { waitUntil, within } from "./wait-until.ts";

/** The `error` of an answer. */
export interface ApiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
  readonly stage: string;
  readonly request_id: string;
  readonly why?: { readonly code: string; readonly text: string };
}

/** The `baton` object of an answer. */
export interface BatonInfo {
  readonly mode: string;
  readonly prefill_worker: string | null;
  readonly decode_worker: string | null;
  readonly timing_ms: Readonly<Record<string, number>>;
}

/** An answer or a chunk, as far as tests look at it. */
export interface ApiBody {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly text?: string;
    readonly message?: { readonly role: string; readonly content: string };
    readonly delta?: { readonly role?: string; readonly content?: string };
    readonly logprobs: unknown;
    readonly finish_reason: string | null;
  }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
  readonly baton?: BatonInfo;
  readonly error: ApiError;
}

/** A whole answer. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ApiBody;
  /** `performance.now()` at its end. */
  readonly atMs: number;
}

/** What can be asked for. */
export type Endpoint = "chat/completions" | "completions";
/** A body to send. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** How long any request of a test may take, ms. */
export const requestTimeoutMs = 20_000;

/** Posts a body and reads the answer. A string is sent as it is. Rejects after twenty seconds. */
export async function post(
  api: string,
  endpoint: Endpoint,
  body: RequestBody | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiAnswer> {
  const answer = await fetch(`${api}/v1/${endpoint}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  const parsed = (await answer.json()) as ApiBody;
  return { status: answer.status, headers: answer.headers, body: parsed, atMs: performance.now() };
}

/** The text of an answer's choice. Throws if it is no answer. */
export function textOf(answer: ApiAnswer, choice = 0): string {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  const found = answer.body.choices[choice];
  return found?.message?.content ?? found?.text ?? "";
}

/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** An answer as a stream, read as it comes. */
export class ApiStream {
  readonly events: ServerEvent[] = [];
  status = 0;
  headers = new Headers();
  /** The body of an answer that is no stream. */
  plain: ApiBody | null = null;
  /** `performance.now()` when it was over; 0 before. */
  endedAtMs = 0;
  /** Why the connection broke, null if it did not. */
  broken: unknown = null;
  readonly ended: Promise<void>;
  readonly #leave = new AbortController();

  /** `id` is sent as `x-request-id`. */
  constructor(api: string, endpoint: Endpoint, body: RequestBody, id?: string) {
    this.ended = this.#read(`${api}/v1/${endpoint}`, { ...body, stream: true }, id).catch(
      (error: unknown) => {
        this.broken = error;
        this.endedAtMs = performance.now();
      },
    );
  }

  /** The chunks, the last `[DONE]` and errors left out. */
  get chunks(): readonly ApiBody[] {
    return this.events
      .filter(({ event, data }) => event === "message" && data !== "[DONE]")
      .map(({ data }) => JSON.parse(data) as ApiBody);
  }

  /** All text so far of one choice. */
  text(choice = 0): string {
    return this.chunks
      .flatMap(({ choices }) => choices.filter(({ index }) => index === choice))
      .map((part) => part.delta?.content ?? part.text ?? "")
      .join("");
  }

  get isDone(): boolean {
    return this.events.some(({ data }) => data === "[DONE]");
  }

  /** Every error that it was told: as a status, or as an event. */
  get errors(): readonly ApiError[] {
    const told = this.events
      .filter(({ event }) => event === "error")
      .map(({ data }) => (JSON.parse(data) as ApiBody).error);
    return this.plain === null ? told : [this.plain.error, ...told];
  }

  /** Resolves when the first token is here. */
  async begun(): Promise<void> {
    await waitUntil("the first token", () => this.text() !== "" || this.#failure());
  }

  /** Resolves at the end, which must come in time. */
  async over(timeoutMs = requestTimeoutMs): Promise<this> {
    await within(timeoutMs, "a stream", this.ended);
    return this;
  }

  /** Closes the connection, as a client does that has gone. */
  leave(): void {
    this.#leave.abort();
  }

  #failure(): false {
    if (this.endedAtMs > 0) throw new Error(`it is over: ${JSON.stringify(this.errors)}`);
    return false;
  }

  async #read(url: string, body: RequestBody, id?: string): Promise<void> {
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(id !== undefined && { "x-request-id": id }),
      },
      body: JSON.stringify(body),
      signal: this.#leave.signal,
    });
    this.status = answer.status;
    this.headers = answer.headers;
    if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
      this.plain = (await answer.json()) as ApiBody;
    } else if (answer.body !== null) {
      let rest = "";
      for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
        const parts = (rest + text).split("\n\n");
        rest = parts.pop() ?? "";
        this.events.push(...parts.map(readEvent));
      }
    }
    this.endedAtMs = performance.now();
  }
}

function readEvent(part: string): ServerEvent {
  const fields = part.split("\n").map((line) => /^(\w+): (.*)$/.exec(line) ?? []);
  const field = (name: string) => fields.find(([, key]) => key === name)?.[2];
  return { event: field("event") ?? "message", data: field("data") ?? "" };
}
