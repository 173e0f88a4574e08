import type {
  OutputDelta,
  RequestEnd,
  RequestHandle,
  RequestSink,
  ServingRequest,
} from "@baton/frontend";
import { requestId } from "@baton/protocol";
import type { ProcessClock } from "@baton/runtime";
import { type ExpectedOutput, expectedOutput } from "./expected-output.ts";
import type { PlannedRequest } from "./plan.ts";
import { simModel } from "./sim-cluster.ts";
import type { SimProcess } from "./sim-process.ts";

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
  readonly texts: string[];
  readonly problems: string[] = [];
  readonly #nowMs: () => number;
  readonly #finished = new Set<number>();

  constructor(id: string, planned: PlannedRequest, nowMs: () => number) {
    this.requestId = id;
    this.planned = planned;
    this.expected = expectedOutput(planned);
    this.texts = planned.output.n === 1 ? [""] : ["", ""];
    this.#nowMs = nowMs;
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

  output(deltas: readonly OutputDelta[]): void {
    if (this.end !== null) this.#problem("output after the end");
    for (const { choice, text, finishReason } of deltas) {
      if (this.#finished.has(choice)) this.#problem(`output after choice ${choice} ended`);
      if (finishReason !== null) this.#finished.add(choice);
      const soFar = (this.texts[choice] ?? "") + text;
      this.texts[choice] = soFar;
      const wanted = this.expected.returned[choice] ?? "";
      if (!wanted.startsWith(soFar)) {
        this.#problem(
          `choice ${choice} says ${JSON.stringify(soFar)}, not ${JSON.stringify(wanted)}`,
        );
      }
    }
  }

  ended(end: RequestEnd): void {
    if (this.end !== null) this.#problem(`ended twice: ${this.end.kind}, then ${end.kind}`);
    this.end = end;
    this.endedAtMs = this.#nowMs();
    if (end.kind === "cancelled" && this.leftAtMs === null) {
      this.#problem("cancelled, but its client never left");
    }
    if (end.kind !== "completed") return;
    for (const [choice, wanted] of this.expected.returned.entries()) {
      const text = this.texts[choice];
      if (text !== wanted) {
        this.#problem(`completed with ${JSON.stringify(text)}, not ${JSON.stringify(wanted)}`);
      }
    }
  }

  #submit(process: SimProcess): void {
    const { port } = process.organs;
    if (port === null || process.phase === "left") return; // nobody listens yet, or any more
    this.frontend = process;
    this.submittedAtMs = this.#nowMs();
    const handle = port.submit(this.#request(), this);
    if (this.planned.leavesAfterMs !== null) {
      this.#leaveLater(process.clock, handle, this.planned.leavesAfterMs);
    }
  }

  #leaveLater(clock: ProcessClock, handle: RequestHandle, afterMs: number): void {
    clock.setTimer(afterMs, () => {
      if (this.end !== null) return;
      this.leftAtMs = this.#nowMs();
      handle.cancel();
    });
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
