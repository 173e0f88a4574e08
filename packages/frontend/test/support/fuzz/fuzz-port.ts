import { createBlockHasherFromModule } from "@baton/kv-router";
import { type ModelCard, ServingError } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { unexplained } from "../../../src/explain/explain-route.ts";
import { createPrepareRequest } from "../../../src/prepare/prepare-request.ts";
import type { TextModels } from "../../../src/prepare/text-models.ts";
import { clientError } from "../../../src/relay/client-error.ts";
import type { RequestPort } from "../../../src/relay/request-port.ts";
import type { OutputLogprob, RequestSink } from "../../../src/request/request-sink.ts";
import type { ServingRequest } from "../../../src/request/serving-request.ts";
import { deltaOf, summary } from "../fake-port.ts";

const logprob: OutputLogprob = {
  id: 65,
  token: "A",
  logprob: -0.5,
  bytes: [65],
  top: [{ id: 65, token: "A", logprob: -0.5, bytes: [65] }],
  textOffset: 0,
};

/** Prepares requests as a Frontend does, and answers what can be served with some text. Nothing is sent anywhere. */
export class FuzzPort implements RequestPort {
  served = 0;
  refused = 0;
  /** What no request may lead to. */
  readonly broken: unknown[] = [];
  readonly #card: ModelCard;
  readonly #prepare;

  constructor(textModels: TextModels, card: ModelCard) {
    this.#card = card;
    this.#prepare = createPrepareRequest({
      textModels,
      hasher: createBlockHasherFromModule(),
      random: new SeededRandom("fuzz"),
      maxPromptLogprobs: 65_536,
      maxWorkBytes: () => 2 ** 20,
    });
  }

  submit(request: ServingRequest, sink: RequestSink) {
    let isOver = false;
    const end = (run: () => void): void => {
      if (isOver) return;
      isOver = true;
      run();
    };
    this.#prepare(request, this.#card).then(
      ({ promptTokens }) =>
        end(() => {
          this.served += 1;
          answer(request, sink, promptTokens);
        }),
      (caught: unknown) =>
        end(() => {
          this.refused += 1;
          const error = clientError(ServingError.from(caught));
          if (error.code === "internal") this.broken.push(caught);
          sink.ended({ kind: "failed", summary: null, stage: "preparing", error });
        }),
    );
    return {
      cancel: () => end(() => sink.ended({ kind: "cancelled", summary, stage: "preparing" })),
    };
  }

  explain(request: ServingRequest) {
    return Promise.resolve(unexplained(request, new ServingError("unknown_worker"), "received"));
  }
}

function answer(request: ServingRequest, sink: RequestSink, promptTokens: number): void {
  const { output, returns } = request;
  const withLogprobs = output.logprobs !== undefined;
  sink.began?.({
    promptTokens,
    text: returns?.promptText === true ? "the prompt" : null,
    logprobs: output.promptLogprobs === undefined ? null : [{ ...logprob, logprob: null }, logprob],
  });
  for (const [at, text] of ["H\u00e9", "l\ud800lo"].entries()) {
    sink.output(
      Array.from({ length: output.n }, (_, choice) =>
        deltaOf(text, {
          choice,
          logprobs: withLogprobs ? [logprob] : null,
          tokens: returns?.tokens === true ? [65] : null,
          outputTokens: at + 1,
          finishReason: at === 1 ? "stop" : null,
        }),
      ),
    );
  }
  sink.ended({ kind: "completed", summary });
}
