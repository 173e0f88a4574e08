import { builtInEngines, type EngineFactory } from "@baton/worker";
import type { SimulationPlan } from "./plan.ts";
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

/** The engine of every simulated worker. */
export async function simulatedEngine(): Promise<EngineFactory> {
  mockEngine ??= (await builtInEngines.mock?.()) ?? null;
  if (mockEngine === null) throw new Error("there is no mock engine");
  return mockEngine;
}

/** Runs a whole cluster from a seed, in virtual time, and checks what it promises. */
export function runSeed(seed: number, options: SimOptions = {}): Promise<SeedRun> {
  return runPlan(planSimulation(seed), options);
}

/** Runs a plan. */
export async function runPlan(plan: SimulationPlan, options: SimOptions = {}): Promise<SeedRun> {
  const simulation = new Simulation(plan, options.engine ?? (await simulatedEngine()), options);
  await simulation.run();
  return {
    seed: plan.seed,
    digest: simulation.digest,
    violations: simulation.violations,
    stats: simulation.stats(),
  };
}
