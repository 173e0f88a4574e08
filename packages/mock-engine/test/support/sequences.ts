import type { EngineRequest, RequestKind } from "../../src/index.ts";
import type { RequestGroup } from "../../src/sequence.ts";

/** A group without sequences. */
export function groupOf(
  request: EngineRequest,
  kind: RequestKind,
  firstTokens: readonly number[] = [],
): RequestGroup<EngineRequest> {
  return {
    request,
    kind,
    sequences: [],
    cancelledChoices: undefined,
    firstTokens,
    prefillReported: false,
  };
}
