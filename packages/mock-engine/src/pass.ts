import type { EngineRequest, RequestKind } from "./engine-request.ts";
import type { HandoffReservation } from "./handoff.ts";
import type { KvEvent } from "./kv-event.ts";
import type { StepOutputs } from "./step-outputs.ts";

/** A pass that is under way. */
export interface Pass {
  readonly startedAtMs: number;
  /** When the host calls `finishPass`, on the clock that gave `startedAtMs`. */
  readonly endsAtMs: number;
  /** Prompt tokens that the pass computes, those of recomputed sequences included. */
  readonly prefillTokens: number;
  /** Sequences that get their next token from it. */
  readonly decodeSequences: number;
}

/** A prompt is computed for the first time. */
export interface PrefillDone<R extends EngineRequest> {
  readonly request: R;
  readonly kind: RequestKind;
  readonly promptTokens: number;
  /** Prompt tokens that were found in the cache when the request was first admitted. */
  readonly cachedTokens: number;
  /** Held for another worker until `releaseHandoff`. False for `generate`, and when the first tokens ended every choice. */
  readonly staged: boolean;
}

/** What a finished pass has to tell. */
export interface PassResult<R extends EngineRequest> {
  readonly pass: Pass;
  /** Reused by the engine: read it before the next pass is finished. */
  readonly outputs: StepOutputs<R>;
  readonly prefills: readonly PrefillDone<R>[];
  /** Requests that are over, and were not cancelled as a whole; the engine has forgotten them. Staged ones are not here. */
  readonly ended: readonly R[];
  /** One entry per sequence that lost its blocks and will be computed again. */
  readonly preempted: readonly R[];
  /** Requests that `addPrefilled` had queued and that have their blocks. */
  readonly reserved: readonly HandoffReservation<R>[];
  /** In order, from the first change since the last events were taken. */
  readonly events: readonly KvEvent[];
}

/** What is held and what is asked for. */
export interface EngineLoad {
  readonly totalBlocks: number;
  /** Referenced by a sequence, a reservation or a staged handoff; a shared block counts once. */
  readonly activeBlocks: number;
  /** Kept for reuse, referenced by nobody. */
  readonly cachedBlocks: number;
  readonly freeBlocks: number;
  readonly runningSequences: number;
  readonly waitingSequences: number;
  /** Tokens that waiting sequences would compute without any cache. */
  readonly waitingPrefillTokens: number;
  /** Prompts held for other workers. */
  readonly stagedHandoffs: number;
  /** Prefilled requests that have their blocks and await their KV. */
  readonly reservedHandoffs: number;
  /** Prefilled requests for which there is no room yet. */
  readonly queuedHandoffs: number;
  /** Since the engine was made. */
  readonly preemptionsTotal: number;
}
