import type { WorkerView } from "@baton/cluster-view";
import {
  type ActorId,
  type Leg,
  type LoadReport,
  type RouterRole,
  ServingError,
  type WorkerId,
} from "@baton/protocol";
import type { RelayState } from "./relay-state.ts";
import type { RelayedRequest } from "./relayed-request.ts";

/** States in which a staged KV may not have been fetched, so that the loss of the prefill worker ends the request. */
const needsPrefillWorker: ReadonlySet<string> = new Set([
  "prefill.queued",
  "prefill.running",
  "decode.routing",
  "handoff",
]);

/** Full reports without a request after which it is given up. One may cross the dispatch on the way. */
const maxMissedReports = 4;
/** How long the other routers have, ms, to speak for a request of which nobody has. */
const othersSayWithinMs = 250;
/** Reports that come closer than this, ms, count as one: after a pause of the bus, stale ones come all together. */
const reportsApartMs = 100;

/** A worker's generation is gone, and with it what it worked on. */
export function onWorkerLost(state: RelayState, worker: WorkerView, why: string): void {
  state.frames.forget(worker.id);
  for (const request of state.table.at(worker.id)) {
    if (!isLostWith(request, worker.id, worker.generation)) continue;
    request.send({
      type: "lost",
      error: new ServingError("worker_lost", { workerId: worker.id, why }),
    });
  }
}

/**
 * A router is gone, and with it its queue: nobody can know whether it had dispatched. What was asked of the group and has
 * heard of nobody may have been with it: the others have a moment left to say that it is not.
 */
export function onRouterLost(state: RelayState, routerId: ActorId, role: RouterRole): void {
  const saidByMs = state.clock.nowMs() + othersSayWithinMs;
  for (const request of state.table.live.values()) {
    const leg = request.activeLeg;
    if (leg === null || role !== `${leg}-router`) continue;
    const { workerId, routerId: holder, namedRouterId } = request.legs[leg];
    if (workerId !== null) continue;
    if ((holder ?? namedRouterId) === routerId) {
      request.send({ type: "lost", error: new ServingError("router_lost", { routerId }) });
    } else if (holder === null && namedRouterId === null && saidByMs < request.noticeByMs) {
      request.noticeByMs = saidByMs;
    }
  }
}

/** A worker's word of all that it runs: what it should run and does not has ended, and its end was lost on the way. */
export function onLoadReport(state: RelayState, report: LoadReport): void {
  if (report.liveBookings === null || !state.table.isUsed(report.workerId)) return;
  const running = new Set<string>(report.liveBookings);
  const nowMs = state.clock.nowMs();
  for (const request of state.table.at(report.workerId)) {
    const name = request.activeLeg;
    if (name === null) continue;
    const leg = request.legs[name];
    if (leg.workerId !== report.workerId || leg.generation !== report.generation) continue;
    if (running.has(request.id)) leg.missedReports = 0;
    else if (nowMs - leg.missedAtMs >= reportsApartMs) missed(state, request, name, nowMs);
  }
}

/** A worker's report does not list a request that it should run. */
function missed(state: RelayState, request: RelayedRequest, name: Leg, nowMs: number): void {
  const leg = request.legs[name];
  leg.missedAtMs = nowMs;
  leg.missedReports += 1;
  if (leg.missedReports === 2 && name === "decode" && leg.workerId !== null) {
    state.frames.catchUp(leg.workerId, leg.generation);
  }
  if (leg.missedReports < maxMissedReports) return;
  const problem = "the worker has ended the request and its last words were lost on the bus";
  request.send({ type: "lost", error: new ServingError("bus_unavailable", { problem }) });
}

/** Frames of a worker can't be had any more: its streams have a hole. */
export function onFramesLost(state: RelayState, workerId: WorkerId, generation: number): void {
  for (const request of state.table.at(workerId)) {
    const { decode } = request.legs;
    if (decode.workerId !== workerId || decode.generation !== generation) continue;
    const problem = "token frames were lost on the bus";
    request.send({ type: "failed", error: new ServingError("bus_unavailable", { problem }) });
  }
}

/** The bus is back: fetches the frames that went by, and gives routers time to be heard again. */
export function onBusBack(state: RelayState): void {
  giveRoutersTime(state);
  for (const workerId of state.table.workers()) {
    const streaming = state.table
      .at(workerId)
      .find(({ legs, isEnded }) => legs.decode.workerId === workerId && !isEnded);
    if (streaming !== undefined) state.frames.catchUp(workerId, streaming.legs.decode.generation);
  }
  state.cleanup.resume();
}

/** What routers have said may not have been heard yet, by no fault of theirs. */
export function giveRoutersTime(state: RelayState): void {
  const heardByMs = state.clock.nowMs() + state.options.routerNoticeMs;
  for (const request of state.table.live.values()) {
    if (request.noticeByMs !== Number.POSITIVE_INFINITY) request.noticeByMs = heardByMs;
  }
}

function isLostWith(request: RelayedRequest, workerId: WorkerId, generation: number): boolean {
  const { prefill, decode } = request.legs;
  if (decode.workerId === workerId && decode.generation <= generation) return true;
  const isPrefill = prefill.workerId === workerId && prefill.generation <= generation;
  return isPrefill && needsPrefillWorker.has(request.state);
}
