/** Hot path: once per request that has pins. */
import type { WorkerView } from "@baton/cluster-view";
import { type Leg, type RoutingRules, ServingError, type WorkerType } from "@baton/protocol";
import type { ServingMode } from "../request/request-sink.ts";
import type { PinRule, RoutingWish } from "../request/serving-request.ts";

/** What one leg of a request is to be chosen from. */
interface PinnedLeg {
  readonly type: WorkerType;
  readonly worker: "prefillWorkerId" | "decodeWorkerId";
  readonly rank: "prefillDpRank" | "decodeDpRank";
}

const prefillLeg: PinnedLeg = {
  type: "prefill",
  worker: "prefillWorkerId",
  rank: "prefillDpRank",
};
const decodeLeg = (type: WorkerType): PinnedLeg => ({
  type,
  worker: "decodeWorkerId",
  rank: "decodeDpRank",
});
const legsOf: Readonly<Record<ServingMode, readonly PinnedLeg[]>> = {
  disaggregated: [prefillLeg, decodeLeg("decode")],
  aggregated: [decodeLeg("aggregated")],
  "decode-only": [decodeLeg("decode")],
};

/** The type of worker that a leg of a request goes to. */
export function workerTypeOf(mode: ServingMode, leg: Leg): WorkerType {
  if (leg === "prefill") return "prefill";
  return mode === "aggregated" ? "aggregated" : "decode";
}

/**
 * What is wrong with a request's pins, before anything is sent: a worker that is not there (`unknown_worker`), a rank that
 * it does not have, or a rank of no worker (`invalid_request`). Null if nothing is.
 */
export function pinError(
  { rules, said }: RoutingWish,
  mode: ServingMode,
  workers: readonly WorkerView[],
): ServingError | null {
  if (rules === null) return null;
  for (const leg of legsOf[mode]) {
    const error = legError(leg, rules, said, workers);
    if (error !== null) return error;
  }
  return null;
}

/** Pins of a leg that a request served in this mode does not have, in the client's words. */
export function idlePins({ said }: RoutingWish, mode: ServingMode): readonly string[] {
  if (mode === "disaggregated") return [];
  const used = new Set([said.decodeWorkerId, said.decodeDpRank]);
  const idle = [said.prefillWorkerId, said.prefillDpRank];
  return idle.filter((field): field is string => field !== undefined && !used.has(field));
}

function legError(
  leg: PinnedLeg,
  rules: RoutingRules,
  said: RoutingWish["said"],
  workers: readonly WorkerView[],
): ServingError | null {
  const id = rules[leg.worker];
  const rank = rules[leg.rank];
  if (id === undefined) {
    if (rank === undefined) return null;
    return invalid(said, leg.rank, `names a rank of a ${leg.type} worker, but no worker is named`);
  }
  const worker = workers.find((one) => one.id === id && one.state !== "lost");
  if (worker?.workerType !== leg.type) return unknownWorker(leg, id, said, worker);
  if (rules.allowedWorkers?.includes(id) === false) {
    return invalid(said, leg.worker, `names ${id}, which is not among baton.allowed_workers`);
  }
  const { dpStartRank, dpSize } = worker.registration.capacity;
  if (rank !== undefined && (rank < dpStartRank || rank >= dpStartRank + dpSize)) {
    const last = dpStartRank + dpSize - 1;
    return invalid(said, leg.rank, `must be from ${dpStartRank} to ${last} for ${id}`);
  }
  // A session may have bound the rank.
  if (rank !== undefined || dpSize === 1 || rules.session !== undefined) return null;
  return invalid(said, leg.worker, `names ${id}, which has ${dpSize} ranks: name one too`);
}

function unknownWorker(
  { type, worker: rule }: PinnedLeg,
  id: string,
  said: RoutingWish["said"],
  other: WorkerView | undefined,
): ServingError {
  const param = said[rule] ?? rule;
  const isOther = other === undefined ? "" : `: it is ${article(other.workerType)} worker`;
  const pinsBoth = rule === "prefillWorkerId" && param === said.decodeWorkerId;
  const hint = pinsBoth ? `; ${param} pins prefill too unless a prefill worker is named` : "";
  const problem = `${param}: there is no ${type} worker ${id}${isOther}${hint}`;
  return new ServingError("unknown_worker", { param, problem, workerId: id });
}

function article(type: WorkerType): string {
  return type === "aggregated" ? "an aggregated" : `a ${type}`;
}

function invalid(said: RoutingWish["said"], rule: PinRule, problem: string): ServingError {
  const param = said[rule] ?? rule;
  return new ServingError("invalid_request", { param, problem: `${param} ${problem}` });
}
