import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Departure, SoakRequest } from "./soak-request.ts";

/** How a request ended for its client. */
export type ClientEnd =
  | { readonly kind: "completed" }
  | {
      readonly kind: "failed";
      readonly code: string;
      readonly stage: string;
      readonly message: string;
    }
  | { readonly kind: "left" }
  /** What no client may see: an answer without an end, one that ends twice, or none in time. */
  | { readonly kind: "broken"; readonly why: string };

interface ErrorBody {
  readonly error?: { readonly code: string; readonly stage: string; readonly message: string };
}

/** Sends requests over kept connections, and leaves where it was told to. */
export class SoakClient {
  readonly #agent: Agent;
  readonly #timeoutMs: number;
  readonly #open = new Map<string, OpenRequest>();

  /** `timeoutMs` is how long any answer may take. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({ keepAlive: true });
  }

  /** Resolves with the end, once. */
  async send(api: string, asked: SoakRequest): Promise<ClientEnd> {
    const open = new OpenRequest(api, asked, this.#agent, this.#timeoutMs);
    this.#open.set(asked.id, open);
    try {
      return await open.ended;
    } finally {
      this.#open.delete(asked.id);
    }
  }

  /** A request has reached a state. */
  reached(id: string, state: string): void {
    this.#open.get(id)?.reached(state);
  }

  /** Closes what it keeps, so that servers hold nothing for it. */
  closeConnections(): void {
    this.#agent.destroy();
  }
}

class OpenRequest {
  readonly ended: Promise<ClientEnd>;
  readonly #leaves: Departure | null;
  readonly #sent: ClientRequest;
  readonly #timers: NodeJS.Timeout[] = [];
  #end: (end: ClientEnd) => void = () => undefined;
  #chunks = 0;

  constructor(api: string, asked: SoakRequest, agent: Agent, timeoutMs: number) {
    this.#leaves = asked.leaves;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    void this.ended.then(() => {
      for (const timer of this.#timers) clearTimeout(timer);
    });
    this.#sent = request(`${api}${asked.path}`, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(asked.body),
        "x-request-id": asked.id,
      },
    });
    this.#sent.on("error", (error) => this.#broke(`the connection: ${error.message}`));
    this.#sent.on("response", (answer) => this.#read(answer, asked.isStreamed));
    this.#timers.push(setTimeout(() => this.#broke(`no end in ${timeoutMs} ms`), timeoutMs));
    this.#sent.end(asked.body, () => {
      if (this.#leaves?.kind === "after") {
        this.#timers.push(setTimeout(() => this.#leave(), this.#leaves.ms));
      }
    });
  }

  reached(state: string): void {
    if (this.#leaves?.kind === "state" && this.#leaves.state === state) this.#leave();
  }

  #read(answer: IncomingMessage, isStreamed: boolean): void {
    let text = "";
    const isEvents = answer.headers["content-type"]?.startsWith("text/event-stream") ?? false;
    answer.setEncoding("utf8");
    answer.on("data", (part: string) => {
      text += part;
      this.#chunks += 1;
      if (this.#leaves?.kind === "chunks" && this.#chunks >= this.#leaves.chunks) this.#leave();
    });
    answer.on("error", (error) => this.#broke(`the answer: ${error.message}`));
    answer.on("end", () => {
      if (isStreamed && answer.statusCode === 200 && !isEvents)
        this.#broke("a 200 that is no stream");
      else this.#end(isEvents ? endOfStream(text) : endOfAnswer(answer.statusCode ?? 0, text));
    });
  }

  #leave(): void {
    this.#end({ kind: "left" });
    this.#sent.destroy();
  }

  #broke(why: string): void {
    this.#end({ kind: "broken", why });
    this.#sent.destroy();
  }
}

/** How a whole answer ends its request. */
export function endOfAnswer(status: number, text: string): ClientEnd {
  if (status === 200) {
    return text.includes('"choices"') ? { kind: "completed" } : { kind: "broken", why: text };
  }
  return failure(text) ?? { kind: "broken", why: `${status} without an error: ${text}` };
}

/** How a stream ends its request: by one `[DONE]` or by one error, as its last event. */
export function endOfStream(text: string): ClientEnd {
  const events = text.split("\n\n").filter((part) => part !== "");
  const ends = events.filter((part) => part === "data: [DONE]" || part.startsWith("event: error"));
  const last = events.at(-1);
  if (last === undefined || ends.length !== 1 || ends[0] !== last) {
    return { kind: "broken", why: `a stream with ${ends.length} ends: ${last ?? "nothing"}` };
  }
  if (last === "data: [DONE]") return { kind: "completed" };
  const told = failure(last.slice(last.indexOf("data: ") + "data: ".length));
  return told ?? { kind: "broken", why: last };
}

function failure(text: string): ClientEnd | null {
  try {
    const { error } = JSON.parse(text) as ErrorBody;
    if (error === undefined) return null;
    return { kind: "failed", code: error.code, stage: error.stage, message: error.message };
  } catch {
    return null;
  }
}
