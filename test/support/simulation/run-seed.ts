import { builtInEngines, type EngineFactory } from "@baton/worker";
import { planSimulation } from "./plan-simulation.ts";
import { type SeedStats, type SimOptions, Simulation } from "./simulation.ts";

/** The outcome of one seed. */
export interface SeedRun {
  readonly seed: number;
  /** SHA-256 over every message on the bus. */
  readonly digest: string;
  /** Broken promises, in words. Empty if all were kept. */
  readonly violations: readonly string[];
  readonly stats: SeedStats;
}

let mockEngine: EngineFactory | null = null;

/** Runs a whole cluster from a seed, in virtual time, and checks what it promises. */
export async function runSeed(seed: number, options: SimOptions = {}): Promise<SeedRun> {
  mockEngine ??= (await builtInEngines.mock?.()) ?? null;
  if (mockEngine === null) throw new Error("there is no mock engine");
  const simulation = new Simulation(planSimulation(seed), mockEngine, options);
  await simulation.run();
  return {
    seed,
    digest: simulation.digest,
    violations: simulation.violations,
    stats: simulation.stats(),
  };
}

/** How to run one seed again. */
export function repeatCommand(seed: number): string {
  return `npm run simulate -- --from ${seed} --count 1`;
}
