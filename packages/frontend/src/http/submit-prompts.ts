/** Hot path: once per request, `output` once per stream and turn of the loop. */
import type { RequestPort } from "../relay/request-port.ts";
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
 * Submits the requests of one body, one for each prompt, behind one answer. The failure of one ends them all, and is told
 * once. The handle cancels all of them.
 */
export function submitPrompts(
  port: Pick<RequestPort, "submit">,
  requests: readonly ServingRequest[],
  sink: AnswerSink,
): RequestHandle {
  const group = new PromptGroup(requests.length, sink);
  for (const [prompt, request] of requests.entries()) {
    if (group.isOver) break;
    group.add(port.submit(request, group.sinkOf(prompt, request.output.n)));
  }
  return group;
}

class PromptGroup implements RequestHandle {
  isOver = false;
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
    if (this.isOver) handle.cancel();
  }

  cancel(): void {
    for (const handle of this.#handles) handle.cancel();
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
