// Hot path: once per token. Bench: bench/step.bench.ts
import type { EngineRequest } from "./engine-request.ts";
import { type FinishReason, finishReasonOf } from "./finish-reason.ts";
import type { Sequence } from "./sequence.ts";
import { noToken, type StepOutputs } from "./step-outputs.ts";

/** Gives a sequence its next token. Returns whether that ends it; `lengthLimit` bounds prompt and output together. */
export function emitNext<R extends EngineRequest>(
  sequence: Sequence<R>,
  outputs: StepOutputs<R>,
  lengthLimit: number,
): boolean {
  const token = sequence.request.plans[sequence.choice]!.next(sequence.generated);
  return emitToken(sequence, token ?? noToken, outputs, lengthLimit);
}

/** Gives a sequence a token that is known already. Returns whether that ends it. */
export function emitToken<R extends EngineRequest>(
  sequence: Sequence<R>,
  token: number,
  outputs: StepOutputs<R>,
  lengthLimit: number,
): boolean {
  const position = sequence.generated;
  if (token !== noToken) sequence.append(token);
  const finish = finishOf(sequence, position, token, sequence.known, lengthLimit);
  outputs.add(sequence.request, sequence.choice, position, token, finish);
  return finish !== undefined;
}

/** Samples the first token of each choice of a prefilled prompt, which stays as it is. Returns how many choices go on. */
export function emitFirstTokens<R extends EngineRequest>(
  sequence: Sequence<R>,
  outputs: StepOutputs<R>,
  lengthLimit: number,
): number {
  const { request, group } = sequence;
  let goingOn = 0;
  for (let choice = 0; choice < request.plans.length; choice++) {
    if (group.cancelledChoices?.has(choice) === true) continue;
    const token = request.plans[choice]!.next(0) ?? noToken;
    const finish = finishOf(sequence, 0, token, sequence.known + 1, lengthLimit);
    outputs.add(request, choice, 0, token, finish);
    if (finish === undefined) goingOn++;
  }
  return goingOn;
}

function finishOf<R extends EngineRequest>(
  sequence: Sequence<R>,
  position: number,
  token: number,
  length: number,
  lengthLimit: number,
): FinishReason | undefined {
  if (token === noToken) return "eos";
  const finish = finishReasonOf(sequence.request.rules, position, token);
  return finish ?? (length >= lengthLimit ? "length" : undefined);
}
