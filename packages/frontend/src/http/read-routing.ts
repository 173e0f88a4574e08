/** Hot path: once per request. Costs a few look-ups where a request says nothing. */
import {
  type RequestSession,
  type RouterOverrides,
  type RoutingConstraints,
  type RoutingRules,
  ServingError,
  workerId,
} from "@baton/protocol";
import type { PinRule, RoutingWish } from "../request/serving-request.ts";
import type { RequestHeaders, RoutingHeaders, Said } from "./routing-headers.ts";
import { readRoutingHeaders } from "./routing-headers.ts";
import { type BatonFields, maxRank, type NvextFields } from "./routing-schema.ts";

/** What of a checked body concerns routing. */
export interface RoutingBody {
  readonly baton?: BatonFields | undefined;
  readonly nvext?: NvextFields | undefined;
  readonly cache_salt?: string | undefined;
}

/** An annotation that begins so asks where the request would go, and does not send it. */
const queryAnnotation = "query_instance_id:";

/** The form in which a request asks where it would go instead of going there; null if it does not. */
export function queryForm({ baton, nvext }: RoutingBody): "baton" | "nvext" | null {
  if (nvext?.annotations?.some((one) => one.startsWith(queryAnnotation))) return "nvext";
  return baton?.query_only === true ? "baton" : null;
}

/**
 * What a request says about where it goes: a header before the body, the `baton` object before `nvext`. Undefined if it
 * says nothing. Throws `invalid_request` with the field or header at fault in `param`.
 */
export function readRouting(body: RoutingBody, sent: RequestHeaders): RoutingWish | undefined {
  const headers = readRoutingHeaders(sent);
  const { rules: pins, said } = readPins(body, headers);
  const rules: RoutingRules = {
    ...pins,
    ...present("constraints", constraintsOf(body)),
    ...present("allowedWorkers", body.baton?.allowed_workers?.map(workerId)),
    ...present("session", sessionOf(body, headers)),
    ...present("overrides", overridesOf(body.baton?.router)),
    ...present("expectedOutputTokens", expectedTokensOf(body)),
  };
  const salt = (headers.tenant?.value ?? body.nvext?.cache_salt) || body.cache_salt || "";
  const ignored = [...headers.ignored, ...ignoredFields(body.nvext)];
  const hasRules = Object.keys(rules).length > 0;
  if (!hasRules && salt === "" && ignored.length === 0) return undefined;
  return {
    rules: hasRules ? rules : null,
    cacheSalt: salt === "" ? null : salt,
    said,
    ignored,
  };
}

type Pins = Pick<RoutingRules, PinRule>;

interface ReadPins {
  readonly rules: Pins;
  readonly said: RoutingWish["said"];
}

const noPins: ReadPins = { rules: {}, said: {} };

/** Each leg has its own pin; the general one serves where a leg has none (`dynamo-semantics` 1.11). */
function readPins({ baton, nvext }: RoutingBody, headers: RoutingHeaders): ReadPins {
  const general = said("nvext.backend_instance_id", nvext?.backend_instance_id);
  const prefill =
    headers.prefillWorker ??
    said("baton.prefill_worker", baton?.prefill_worker) ??
    said("nvext.prefill_worker_id", nvext?.prefill_worker_id) ??
    headers.worker ??
    general;
  const decode =
    headers.worker ??
    said("baton.decode_worker", baton?.decode_worker) ??
    said("nvext.decode_worker_id", nvext?.decode_worker_id) ??
    general;
  const rank = said("nvext.dp_rank", nvext?.dp_rank);
  const decodeRank = headers.rank ?? said("baton.decode_dp_rank", baton?.decode_dp_rank) ?? rank;
  const prefillRank =
    unlessUnset(headers.prefillRank) ??
    said("baton.prefill_dp_rank", baton?.prefill_dp_rank) ??
    unlessUnset(said("nvext.prefill_dp_rank", nvext?.prefill_dp_rank)) ??
    // The general rank says nothing of a worker that is still to be chosen.
    (prefill === undefined ? undefined : (headers.rank ?? rank));
  if ((prefill ?? decode ?? decodeRank ?? prefillRank) === undefined) return noPins;
  return {
    rules: {
      ...present("prefillWorkerId", prefill && workerId(prefill.value)),
      ...present("prefillDpRank", prefillRank?.value),
      ...present("decodeWorkerId", decode && workerId(decode.value)),
      ...present("decodeDpRank", decodeRank?.value),
    },
    said: {
      ...present("prefillWorkerId", prefill?.field),
      ...present("prefillDpRank", prefillRank?.field),
      ...present("decodeWorkerId", decode?.field),
      ...present("decodeDpRank", decodeRank?.field),
    },
  };
}

function unlessUnset(rank: Said<number> | undefined): Said<number> | undefined {
  return rank?.value === maxRank ? undefined : rank;
}

function constraintsOf({ baton, nvext }: RoutingBody): RoutingConstraints | undefined {
  const own = baton?.constraints ?? undefined;
  const theirs = nvext?.routing_constraints ?? undefined;
  const requiredTaints = own?.required ?? theirs?.required_taints ?? [];
  const preferredTaints = own?.preferred ?? theirs?.preferred_taints ?? {};
  if (requiredTaints.length === 0 && Object.keys(preferredTaints).length === 0) return undefined;
  return { requiredTaints, preferredTaints };
}

/** A header's session replaces the body's whole; a parent of its own belongs to either. */
function sessionOf({ baton }: RoutingBody, headers: RoutingHeaders): RequestSession | undefined {
  const own = headers.session;
  const parent = headers.parentSession;
  const body = baton?.session ?? undefined;
  const id = own?.value ?? body?.id;
  if (id === undefined) {
    if (parent === undefined) return undefined;
    const problem = `${parent.field} needs a session's own id in x-baton-session-id`;
    throw new ServingError("invalid_request", { param: parent.field, problem });
  }
  const parentId = parent?.value ?? (own === undefined ? body?.parent : undefined);
  return { id, ...present("parent", parentId ?? undefined) };
}

function overridesOf(router: BatonFields["router"]): RouterOverrides | undefined {
  const overrides = {
    ...present("overlapScoreCredit", router?.overlap_score_credit ?? undefined),
    ...present("prefillLoadScale", router?.prefill_load_scale ?? undefined),
    ...present("routerTemperature", router?.router_temperature ?? undefined),
    ...present("assumeKvReuse", router?.assume_kv_reuse ?? undefined),
    ...present("trackPrefillTokens", router?.track_prefill_tokens ?? undefined),
  };
  return Object.keys(overrides).length === 0 ? undefined : overrides;
}

function expectedTokensOf({ baton, nvext }: RoutingBody): number | undefined {
  return baton?.expected_output_tokens ?? nvext?.agent_hints?.osl ?? undefined;
}

/** What other systems act on and this one does not, where it was set to something. */
function ignoredFields(nvext: NvextFields | undefined): readonly string[] {
  if (nvext === undefined) return [];
  const hints = nvext.agent_hints ?? {};
  const isSet: Readonly<Record<string, boolean>> = {
    "nvext.agent_hints.priority": (hints.priority ?? 0) !== 0,
    "nvext.agent_hints.strict_priority": (hints.strict_priority ?? 0) !== 0,
    "nvext.agent_hints.speculative_prefill": hints.speculative_prefill === true,
    "nvext.agent_hints.latency_sensitivity": (hints.latency_sensitivity ?? null) !== null,
    "nvext.request_timestamp_ms": (nvext.request_timestamp_ms ?? null) !== null,
    "nvext.router": Object.values(nvext.router ?? {}).some((target) => target !== null),
    "nvext.annotations": (nvext.annotations ?? []).some((one) => !one.startsWith(queryAnnotation)),
  };
  return Object.keys(isSet).filter((field) => isSet[field]);
}

function said<T>(field: string, value: T | null | undefined): Said<T> | undefined {
  return value === null || value === undefined ? undefined : { field, value };
}

/** A field that is there only if it has a value. */
function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
