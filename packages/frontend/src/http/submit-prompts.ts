/** Hot path: once per request, `output` once per stream and turn of the loop. */
import type { ServingError } from "@baton/protocol";
import type { RequestPort } from "../relay/request-port.ts";
import { RequestGroup } from "../request/request-group.ts";
import type {
  OutputDelta,
  PromptReport,
  RequestEnd,
  RequestHandle,
  RequestSink,
  RequestSummary,
} from "../request/request-sink.ts";
import type { ServingRequest } from "../request/serving-request.ts";
import type { AnswerEnd, AnswerSink } from "./answers.ts";
import type { Summaries } from "./summary-json.ts";

/**
 * Submits the requests of one body, one for each prompt, behind one answer. None is sent anywhere before all are prepared. The
 * failure of one is the failure of all that have not ended, and is told once. The handle cancels all of them.
 */
export function submitPrompts(
  port: Pick<RequestPort, "submit">,
  requests: readonly ServingRequest[],
  sink: AnswerSink,
): RequestHandle {
  const prompts = new PromptGroup(requests.length, sink);
  const group = requests.length > 1 ? { group: new RequestGroup(requests.length) } : {};
  for (const [prompt, request] of requests.entries()) {
    if (prompts.isOver) break;
    prompts.add(port.submit({ ...request, ...group }, prompts.sinkOf(prompt, request.output.n)));
  }
  return prompts;
}

class PromptGroup implements RequestHandle {
  isOver = false;
  #failure: ServingError | undefined;
  readonly #sink: AnswerSink;
  readonly #handles: RequestHandle[] = [];
  readonly #summaries: (RequestSummary | null)[];

  constructor(prompts: number, sink: AnswerSink) {
    this.#sink = sink;
    this.#summaries = Array.from({ length: prompts }, () => null);
  }

  add(handle: RequestHandle): void {
    this.#handles.push(handle);
    // It may have failed before there was a handle to cancel it by.
    if (this.isOver) handle.cancel(this.#failure);
  }

  cancel(): void {
    for (const handle of this.#handles) handle.cancel(this.#failure);
  }

  sinkOf(prompt: number, choices: number): RequestSink {
    const firstChoice = prompt * choices;
    return {
      began: (report: PromptReport) => {
        if (!this.isOver) this.#sink.began(prompt, report);
      },
      output: (deltas) => {
        if (!this.isOver) this.#sink.output(renumbered(deltas, firstChoice));
      },
      ended: (end) => this.#ended(prompt, end),
    };
  }

  #ended(prompt: number, end: RequestEnd): void {
    if (this.isOver) return;
    if (end.kind !== "completed") {
      this.#end(end.kind === "failed" ? end : { kind: "cancelled" });
      return;
    }
    this.#summaries[prompt] = end.summary;
    if (this.#summaries.includes(null)) return;
    this.#end({
      kind: "completed",
      summaries: this.#summaries as readonly RequestSummary[] as Summaries,
    });
  }

  #end(end: AnswerEnd): void {
    this.isOver = true;
    if (end.kind === "failed") this.#failure = end.error;
    this.cancel();
    this.#sink.ended(end);
  }
}

function renumbered(deltas: readonly OutputDelta[], firstChoice: number): readonly OutputDelta[] {
  if (firstChoice === 0) return deltas;
  return deltas.map((delta) => ({ ...delta, choice: delta.choice + firstChoice }));
}

/** A sink for which nothing was generated: the prompt is all that its client asked for. */
export function withoutOutput(sink: AnswerSink): AnswerSink {
  return {
    began: (prompt, report) => sink.began(prompt, report),
    output: (deltas) =>
      sink.output(
        deltas.map((delta) => ({
          ...delta,
          text: "",
          logprobs: delta.logprobs === null ? null : [],
          outputTokens: 0,
          finishReason: delta.finishReason === null ? null : "length",
        })),
      ),
    ended: (end) => {
      if (end.kind !== "completed") return sink.ended(end);
      const summaries = end.summaries.map((summary) => ({ ...summary, outputTokens: 0 }));
      sink.ended({
        kind: "completed",
        summaries: summaries as readonly RequestSummary[] as Summaries,
      });
    },
  };
}
