import type { ExplainedCandidate, Leg, RouteExplained } from "@baton/protocol";
import type { RouteExplanation } from "../explain/route-explanation.ts";
import { type ErrorAnswer, errorAnswer, errorObject } from "./error-body.ts";

/** Who asked, in which form, and how overload is said. */
export interface RouteFrame {
  readonly requestId: string;
  readonly overloadStatus: number;
  /** `nvext`: as the annotation `query_instance_id:` asks, with worker ids and token ids in an `nvext` object. */
  readonly form: "baton" | "nvext";
}

/**
 * The answer to a request that only asks where it would go: 200, or the status and the `error` of the real request, with
 * whatever is known of the route beside it.
 */
export function routeAnswer(explanation: RouteExplanation, frame: RouteFrame): ErrorAnswer {
  const { failure } = explanation;
  const route = routeObject(explanation, frame);
  if (failure === null) {
    const headers = { "content-type": "application/json; charset=utf-8" };
    return { status: 200, headers, body: JSON.stringify(route) };
  }
  const { error, stage } = failure;
  const answer = errorAnswer(error, { ...frame, stage });
  const body = { error: errorObject(error, stage, frame.requestId), ...route };
  return { ...answer, body: JSON.stringify(body) };
}

function routeObject(explanation: RouteExplanation, { form }: RouteFrame) {
  const { model, mode, tokens, blockSize, legs, ignored } = explanation;
  const selected = (leg: Leg) => routeOf(explanation, leg)?.selected ?? null;
  const cachedTokens = (blocks: number) => Math.min(blocks * blockSize, tokens.length);
  const waits = legs.filter(({ route }) => route.selected === null && route.refusal === null);
  return {
    object: "route",
    model,
    mode,
    candidates: legs.flatMap(({ route }) =>
      route.candidates.map((candidate) =>
        candidateObject(candidate, cachedTokens(candidate.overlapBlocks)),
      ),
    ),
    selected: {
      prefill: selected("prefill")?.workerId ?? null,
      decode: selected("decode")?.workerId ?? null,
    },
    selected_dp_ranks: {
      prefill: selected("prefill")?.dpRank ?? null,
      decode: selected("decode")?.dpRank ?? null,
    },
    /** Legs for which somebody would do, but nobody has room. */
    waits: waits.map(({ leg }) => leg),
    routers: Object.fromEntries(
      legs.map(({ leg, route }) => [leg, { id: route.routerId, mode: route.mode }]),
    ),
    decode_constraints: constraintsObject(routeOf(explanation, "prefill")),
    ignored,
    prompt_tokens: tokens.length,
    block_size: blockSize,
    ...(form === "nvext" ? { nvext: nvextObject(explanation) } : {}),
  };
}

function candidateObject(candidate: ExplainedCandidate, cachedTokens: number) {
  const { workerType, workerId, dpRank, eligible, why, cost, terms } = candidate;
  return {
    role: workerType,
    worker: workerId,
    dp_rank: dpRank,
    eligible,
    ...(why === null ? {} : { why }),
    cost,
    terms,
    cached_tokens: cachedTokens,
  };
}

function constraintsObject(prefill: RouteExplained | undefined) {
  const constraints = prefill?.decodeConstraints ?? null;
  if (constraints === null) return null;
  return { required: constraints.requiredTaints, preferred: constraints.preferredTaints };
}

/** Where one worker does both halves, it stands for both. */
function nvextObject(explanation: RouteExplanation) {
  const decode = routeOf(explanation, "decode")?.selected ?? null;
  const isRelay = explanation.mode === "disaggregated";
  const prefill = isRelay ? (routeOf(explanation, "prefill")?.selected ?? null) : decode;
  return {
    worker_id: {
      prefill_worker_id: prefill?.workerId ?? null,
      prefill_dp_rank: prefill?.dpRank ?? null,
      decode_worker_id: decode?.workerId ?? null,
      decode_dp_rank: decode?.dpRank ?? null,
    },
    token_ids: [...explanation.tokens],
  };
}

function routeOf({ legs }: RouteExplanation, leg: Leg): RouteExplained | undefined {
  return legs.find((one) => one.leg === leg)?.route;
}
