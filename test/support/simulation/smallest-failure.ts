import { describePlan, repeatCommand } from "./describe-plan.ts";
import type { SimulationPlan } from "./plan.ts";
import { runPlan } from "./run-seed.ts";
import { keepOnly, shrinkPlan } from "./shrink-plan.ts";
import type { SimOptions } from "./simulation.ts";

/** The smallest part of a plan that breaks the same promise, as lines: what is broken, the plan, and how to repeat it. */
export async function smallestFailure(
  plan: SimulationPlan,
  violations: readonly string[],
  options: SimOptions = {},
): Promise<string[]> {
  const wanted = new Set(violations.map(kindOf));
  const kept = await shrinkPlan(plan, async (smaller) => {
    const violations = await violationsOf(smaller, options);
    return violations.some((violation) => wanted.has(kindOf(violation)));
  });
  const smallest = keepOnly(plan, kept);
  const left = await violationsOf(smallest, options);
  return [...left, ...describePlan(smallest), repeatCommand(plan.seed, kept)];
}

async function violationsOf(plan: SimulationPlan, options: SimOptions): Promise<readonly string[]> {
  try {
    return (await runPlan(plan, options)).violations;
  } catch (error) {
    return [problemOf(error)];
  }
}

/** A run that throws breaks a promise too. */
export function problemOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A violation without names and figures: the promise that is broken. */
function kindOf(violation: string): string {
  return violation
    .replace(/"[^"]*"/g, "…")
    .replace(/[a-z]+-\d+/g, "…")
    .replace(/\d[\d.]*/g, "#");
}
