import type { RunningActor } from "@baton/runtime";
import { expect } from "vitest";
import type { WorkerCluster } from "./worker-cluster.ts";

const gauges = [
  "baton_worker_sequences",
  "baton_worker_blocks_used",
  "baton_worker_handoffs_held",
  "baton_kv_transfer_bytes_held",
];

/** Everything that workers held is back to nothing, and their load reports say so. */
export async function expectNothingHeld(
  cluster: WorkerCluster,
  ...workers: readonly RunningActor[]
): Promise<void> {
  await cluster.clock.advanceBy(300);
  for (const worker of workers) {
    for (const gauge of gauges) {
      expect([gauge, await cluster.metric(worker, gauge)]).toEqual([gauge, 0]);
    }
    const report = cluster.loads.filter((load) => load.workerId === worker.id).at(-1);
    expect(report).toMatchObject({ handoffsHeld: 0, activeBlocks: 0, runningSequences: 0 });
  }
}
