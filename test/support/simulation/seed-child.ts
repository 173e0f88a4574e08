// Runs the seeds that its parent names, one at a time, and answers with their outcomes.
import { runSeed } from "./run-seed.ts";
import type { PooledRun } from "./seed-pool.ts";
import { problemOf } from "./smallest-failure.ts";

process.on("message", (seed: number) => {
  void outcomeOf(seed).then((run) => process.send?.(run));
});
process.on("disconnect", () => process.exit(0));

async function outcomeOf(seed: number): Promise<PooledRun> {
  try {
    return await runSeed(seed);
  } catch (error) {
    return { seed, problem: problemOf(error) };
  }
}
