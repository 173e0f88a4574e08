// Hot path: `onStep` once per engine step, over every new token. Budget 2 µs a token. Bench: bench/frames.bench.ts
import type { FrameEntry, RequestId, ServingError } from "@baton/protocol";
import type { EngineEvents, PrefillResult, StepOutput } from "./engine.ts";
import { endRequest, failRequest } from "./request-end.ts";
import type { RequestRecord } from "./request-record.ts";
import { finishPrefill } from "./stage-kv.ts";
import type { WorkerState } from "./state.ts";

/** Who hears that an engine goes and comes back. */
export interface EngineLife {
  lost(error: ServingError): void;
  restored(): void;
}

/** Turns what an engine tells into messages. Requests that have ended here meanwhile are not told of. */
export class EngineListener implements EngineEvents {
  readonly #life: EngineLife;
  /** Null until the engine's card is known, before which it has nothing to tell. */
  #state: WorkerState | null = null;

  constructor(life: EngineLife) {
    this.#life = life;
  }

  attach(state: WorkerState): void {
    this.#state = state;
  }

  onStep(outputs: readonly StepOutput[]): void {
    const state = this.#state;
    if (state === null) return;
    for (const output of outputs) this.#add(state, output);
    state.frames.flush();
  }

  onPrefilled(result: PrefillResult): void {
    const record = this.#state?.requests.get(result.requestId);
    if (this.#state === null) return;
    if (record === undefined || record.phase !== "prefilling") {
      this.#state.engine.release(result.requestId);
      return;
    }
    promptComputed(this.#state, record);
    finishPrefill(this.#state, record, result);
  }

  onFailed(requestId: RequestId, error: ServingError): void {
    const record = this.#state?.requests.get(requestId);
    if (this.#state !== null && record !== undefined) failRequest(this.#state, record, error);
  }

  onKvEvents(dpRank: number, events: Parameters<EngineEvents["onKvEvents"]>[1]): void {
    this.#state?.kvEvents.publish(dpRank, events);
  }

  onLost(error: ServingError): void {
    this.#life.lost(error);
  }

  onRestored(): void {
    this.#life.restored();
  }

  #add(state: WorkerState, output: StepOutput): void {
    const record = state.requests.get(output.requestId);
    if (record === undefined || record.phase !== "decoding") return;
    if (record.prefillTokens > 0) promptComputed(state, record);
    const { choice, offset, tokens, logprobs, finish, promptLogprobs } = output;
    const entry = {
      stream: record.head.stream,
      choice,
      offset,
      tokens,
      logprobs,
      end:
        finish === null ? null : { reason: finish, error: null, cachedTokens: output.cachedTokens },
    } satisfies FrameEntry;
    const isFirst = offset === 0 && choice === 0 && record.ticket === null;
    const cached = isFirst && output.cachedTokens > 0 ? output.cachedTokens : null;
    state.frames.add(record.head, withPromptFacts(entry, promptLogprobs, cached));
    record.framed = true;
    if (record.advance(choice, offset, tokens.length, finish !== null)) endRequest(state, record);
  }
}

/** Most entries say nothing of the prompt, and go as they are. */
function withPromptFacts(
  entry: FrameEntry,
  promptLogprobs: FrameEntry["promptLogprobs"],
  cachedTokens: number | null,
): FrameEntry {
  if (promptLogprobs === undefined && cachedTokens === null) return entry;
  return {
    ...entry,
    ...(promptLogprobs === undefined ? {} : { promptLogprobs }),
    ...(cachedTokens === null ? {} : { cachedTokens }),
  };
}

function promptComputed(state: WorkerState, record: RequestRecord): void {
  record.prefillTokens = 0;
  state.load.prefilled(record.head.requestId);
}
