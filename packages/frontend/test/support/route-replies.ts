import type { ExplainedCandidate, RouteExplained } from "@baton/protocol";

/** A rank as a router shows it, with what a test does not care about filled in. */
export function candidateOf(
  workerId: string,
  changes: Partial<ExplainedCandidate> = {},
): ExplainedCandidate {
  return {
    workerId,
    workerType: "decode",
    generation: 1,
    dpRank: 0,
    eligible: true,
    why: null,
    cost: 1,
    terms: {},
    overlapBlocks: 0,
    ...changes,
  };
}

/** What a router says that would choose the first of its candidates. */
export function routeReply(
  candidates: readonly ExplainedCandidate[],
  changes: Partial<RouteExplained> = {},
): RouteExplained {
  const [first] = candidates;
  return {
    routerId: "router-1",
    mode: "kv",
    candidates: [...candidates],
    selected:
      first === undefined
        ? null
        : {
            workerId: first.workerId,
            generation: first.generation,
            dpRank: first.dpRank,
            overlapBlocks: first.overlapBlocks,
            bestOverlapBlocks: first.overlapBlocks,
          },
    refusal: null,
    decodeConstraints: null,
    ignored: [],
    ...changes,
  };
}
