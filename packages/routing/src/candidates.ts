import type { WorkerView } from "@baton/cluster-view";
import { type Bookings, type WorkerCandidate, workerTaints } from "@baton/kv-router";
import type { WorkerId } from "@baton/protocol";

/** The taints of each registration, built once: registrations do not change within a generation. */
const taintsOf = new WeakMap<WorkerView["registration"], ReadonlySet<string>>();

/** One candidate per rank of every worker that is not lost, as bookings and load reports have them. */
export function candidatesOf(
  workers: readonly WorkerView[],
  bookings: Bookings,
  refusesUntilMs: ReadonlyMap<WorkerId, number>,
): readonly WorkerCandidate[] {
  const candidates: WorkerCandidate[] = [];
  for (const worker of workers) {
    if (worker.state === "lost") continue;
    const { dpStartRank, dpSize } = worker.registration.capacity;
    for (let rank = dpStartRank; rank < dpStartRank + dpSize; rank += 1) {
      candidates.push(candidateOf(worker, rank, bookings, refusesUntilMs));
    }
  }
  return candidates;
}

function candidateOf(
  worker: WorkerView,
  dpRank: number,
  bookings: Bookings,
  refusesUntilMs: ReadonlyMap<WorkerId, number>,
): WorkerCandidate {
  const { id, generation, registration, load } = worker;
  return {
    workerId: id,
    generation,
    dpRank,
    taints: cachedTaints(registration),
    draining: worker.state === "draining" || load?.accepting === false,
    refusesUntilMs: refusesUntilMs.get(id) ?? 0,
    requestsInFlight: bookings.loadOfRank(id, dpRank).requests,
    workerRequestsInFlight: bookings.loadOf(id).requests,
    maxRequestsInFlight: registration.capacity.maxSequences,
    activeBlocks: load?.activeBlocks ?? null,
    totalBlocks: load?.totalBlocks ?? registration.capacity.totalBlocks,
    overlapBlocks: 0,
  };
}

function cachedTaints(registration: WorkerView["registration"]): ReadonlySet<string> {
  const known = taintsOf.get(registration);
  if (known !== undefined) return known;
  const taints = workerTaints(registration);
  taintsOf.set(registration, taints);
  return taints;
}
