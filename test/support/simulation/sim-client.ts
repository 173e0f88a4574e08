import type {
  OutputDelta,
  OutputLogprob,
  RequestEnd,
  RequestHandle,
  RequestSink,
  ServingRequest,
} from "@baton/frontend";
import { type RequestState, requestId } from "@baton/protocol";
import { type ExpectedOutput, expectedOutput } from "./expected-output.ts";
import type { PlannedRequest } from "./plan.ts";
import { simModel } from "./sim-cluster.ts";
import type { SimProcess } from "./sim-process.ts";

/** What a client was given of one choice. */
export interface AnsweredChoice {
  text: string;
  readonly logprobs: OutputLogprob[];
  outputTokens: number;
  finishReason: OutputDelta["finishReason"];
}

/** What a client asks of its run, and tells it. */
export interface ClientEvents {
  nowMs(): number;
  /** It goes away before its answer is complete. */
  onLeave(client: SimClient): void;
}

/** One client with all that it saw. */
export class SimClient implements RequestSink {
  readonly requestId: string;
  readonly planned: PlannedRequest;
  readonly expected: ExpectedOutput;
  /** The Frontend's life that took the request; null until then, and if there was none. */
  frontend: SimProcess | null = null;
  submittedAtMs: number | null = null;
  leftAtMs: number | null = null;
  end: RequestEnd | null = null;
  endedAtMs: number | null = null;
  /** What it was given by choice, all deltas together. */
  readonly answer: AnsweredChoice[];
  readonly problems: string[] = [];
  readonly #events: ClientEvents;
  #handle: RequestHandle | null = null;
  #characters = 0;

  constructor(id: string, planned: PlannedRequest, events: ClientEvents) {
    this.requestId = id;
    this.planned = planned;
    this.expected = expectedOutput(planned);
    this.answer = Array.from({ length: planned.output.n }, () => ({
      text: "",
      logprobs: [],
      outputTokens: 0,
      finishReason: null,
    }));
    this.#events = events;
  }

  /** Whether somebody still owes it an end. A client whose Frontend died has seen its connection break. */
  get isOpen(): boolean {
    return this.frontend !== null && this.end === null && this.frontend.phase !== "dead";
  }

  /** Comes to a Frontend. Its process takes the connection when it runs. */
  comeTo(process: SimProcess | undefined): void {
    if (process === undefined || process.phase === "dead" || process.phase === "left") return;
    process.clock.setTimer(0, () => this.#submit(process));
  }

  /** The bus tells that its request is in this state. */
  sawState(state: RequestState): void {
    const { leaves } = this.planned;
    if (leaves?.kind !== "in-state" || leaves.state !== state) return;
    this.frontend?.clock.setTimer(0, () => this.#leave());
  }

  output(deltas: readonly OutputDelta[]): void {
    if (this.end !== null) this.#problem("output after the end");
    for (const delta of deltas) this.#take(delta);
    const { leaves } = this.planned;
    // Who writes to a client that does not read cuts it there and then.
    if (leaves?.kind === "reading" && this.#characters >= leaves.characters) this.#leave();
  }

  #take({ choice, finishReason, logprobs, outputTokens, text }: OutputDelta): void {
    const answer = this.answer[choice];
    if (answer === undefined) {
      this.#problem(`there is no choice ${choice}`);
      return;
    }
    if (answer.finishReason !== null) this.#problem(`output after choice ${choice} ended`);
    answer.finishReason = finishReason;
    answer.text += text;
    answer.outputTokens = outputTokens;
    if (logprobs !== null) answer.logprobs.push(...logprobs);
    this.#characters += text.length;
    const wanted = this.expected.returned[choice] ?? "";
    if (wanted.startsWith(answer.text)) return;
    const said = JSON.stringify(answer.text);
    this.#problem(`choice ${choice} says ${said}, not ${JSON.stringify(wanted)}`);
  }

  ended(end: RequestEnd): void {
    if (this.end !== null) this.#problem(`ended twice: ${this.end.kind}, then ${end.kind}`);
    this.end = end;
    this.endedAtMs = this.#events.nowMs();
    if (end.kind === "cancelled" && this.leftAtMs === null) {
      this.#problem("cancelled, but its client never left");
    }
    if (end.kind !== "completed") return;
    for (const [choice, wanted] of this.expected.returned.entries()) {
      const text = this.answer[choice]?.text;
      if (text !== wanted) {
        this.#problem(`completed with ${JSON.stringify(text)}, not ${JSON.stringify(wanted)}`);
      }
    }
  }

  #submit(process: SimProcess): void {
    const { port } = process.organs;
    if (port === null || process.phase === "left") return; // nobody listens yet, or any more
    this.frontend = process;
    this.submittedAtMs = this.#events.nowMs();
    this.#handle = port.submit(this.#request(), this);
    const { leaves } = this.planned;
    if (leaves?.kind === "after") process.clock.setTimer(leaves.ms, () => this.#leave());
  }

  #leave(): void {
    if (this.end !== null || this.#handle === null) return;
    this.leftAtMs = this.#events.nowMs();
    this.#events.onLeave(this);
    this.#handle.cancel();
  }

  #request(): ServingRequest {
    const { output, prompt, session } = this.planned;
    return {
      requestId: requestId(this.requestId),
      model: simModel,
      prompt: promptOf(prompt),
      output: {
        maxTokens: output.maxTokens,
        n: output.n,
        temperature: output.temperature,
        seed: output.samplingSeed,
        ...(output.logprobs === null ? {} : { logprobs: output.logprobs }),
      },
      stop: output.stop,
      clientRequestId: null,
      traceparent: null,
      ...(session === null
        ? {}
        : { routing: { rules: { session }, cacheSalt: null, said: {}, ignored: [] } }),
    };
  }

  #problem(text: string): void {
    this.problems.push(`${this.requestId}: ${text}`);
  }
}

function promptOf(prompt: PlannedRequest["prompt"]): ServingRequest["prompt"] {
  switch (prompt.kind) {
    case "tokens":
      return { kind: "tokens", tokens: prompt.tokens };
    case "text":
      return { kind: "text", text: prompt.text };
    case "chat":
      return { kind: "chat", messages: [{ role: "user", content: prompt.text }] };
  }
}
