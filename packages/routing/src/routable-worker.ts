import type { WorkerView } from "@baton/cluster-view";
import { type RoutableWorker, workerTaints } from "@baton/kv-router";

/** A worker of the cluster as routing sees it. */
export function routableWorker({ id, generation, workerType, state, registration }: WorkerView) {
  const { capacity, card } = registration;
  return {
    id,
    generation,
    workerType,
    dpStartRank: capacity.dpStartRank,
    dpSize: capacity.dpSize,
    taints: workerTaints(registration),
    draining: state !== "live",
    maxSequences: capacity.maxSequences,
    maxBatchedTokens: capacity.maxBatchedTokens > 0 ? capacity.maxBatchedTokens : null,
    totalBlocks: capacity.totalBlocks > 0 ? capacity.totalBlocks : null,
    blockSize: card.blockSize,
  } satisfies RoutableWorker;
}
