import { ServingError } from "@baton/protocol";
import { unexplained } from "../../src/explain/explain-route.ts";
import type { RouteExplanation } from "../../src/explain/route-explanation.ts";
import type { RequestPort } from "../../src/relay/request-port.ts";
import type {
  OutputDelta,
  RequestHandle,
  RequestSink,
  RequestSummary,
} from "../../src/request/request-sink.ts";
import type { ServingRequest } from "../../src/request/serving-request.ts";

/** A request port that keeps what it is given, for the test to answer. */
export class FakePort implements RequestPort {
  readonly requests: ServingRequest[] = [];
  readonly sinks: RequestSink[] = [];
  /** Requests that only asked where they would go. */
  readonly queries: ServingRequest[] = [];
  cancelled = 0;
  /** Codes of the failures that requests were ended with. */
  readonly failed: string[] = [];
  onExplain: (request: ServingRequest) => RouteExplanation = (request) =>
    unexplained(request, new ServingError("not_ready"), "received");
  /** Answers at once, if the test sets it. */
  onSubmit: (sink: RequestSink, request: ServingRequest) => void = () => undefined;
  readonly #waiting: (() => void)[] = [];

  submit(request: ServingRequest, sink: RequestSink): RequestHandle {
    this.requests.push(request);
    let isOver = false;
    const guarded: RequestSink = {
      began: (report) => sink.began?.(report),
      output: (deltas) => sink.output(deltas),
      ended: (end) => {
        isOver = true;
        sink.ended(end);
      },
    };
    this.sinks.push(guarded);
    for (const wake of this.#waiting.splice(0)) wake();
    this.onSubmit(guarded, request);
    return {
      cancel: (because) => {
        if (isOver) return;
        isOver = true;
        if (because === undefined) this.cancelled += 1;
        else this.failed.push(because.code);
        for (const wake of this.#waiting.splice(0)) wake();
        const stage = "decode.streaming";
        sink.ended(
          because === undefined
            ? { kind: "cancelled", summary, stage }
            : { kind: "failed", summary, stage, error: because },
        );
      },
    };
  }

  explain(request: ServingRequest): Promise<RouteExplanation> {
    this.queries.push(request);
    return Promise.resolve(this.onExplain(request));
  }

  /** Resolves when the condition holds, looked at after each request and each cancel. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

export const summary: RequestSummary = {
  mode: "disaggregated",
  prefillWorker: "p1" as RequestSummary["prefillWorker"],
  decodeWorker: "d1" as RequestSummary["decodeWorker"],
  prefillDpRank: 0,
  decodeDpRank: 1,
  receivedAtMs: 1_000,
  kvHitRate: 0.5,
  promptTokens: 7,
  cachedTokens: 4,
  outputTokens: 2,
  timingMs: { received: 0, preparing: 1.5 },
};

/** New text of the first choice. */
export function deltaOf(text: string, changes: Partial<OutputDelta> = {}): OutputDelta {
  return {
    choice: 0,
    text,
    logprobs: null,
    tokens: null,
    outputTokens: 0,
    finishReason: null,
    ...changes,
  };
}

/** Answers with two pieces of text. */
export function answerHello(sink: RequestSink): void {
  sink.output([deltaOf("Hel")]);
  sink.output([deltaOf("lo", { finishReason: "stop" })]);
  sink.ended({ kind: "completed", summary });
}
