import type { SimulationPlan } from "./plan.ts";

/** The parts of a plan that a run keeps, as indices into what its seed draws. */
export interface Kept {
  readonly faults: readonly number[];
  readonly requests: readonly number[];
}

/** A plan of which only some faults and requests are left. */
export function keepOnly(plan: SimulationPlan, { faults, requests }: Kept): SimulationPlan {
  return {
    ...plan,
    faults: plan.faults.filter((_, index) => faults.includes(index)),
    requests: plan.requests.filter((_, index) => requests.includes(index)),
  };
}

/**
 * The fewest faults and requests with which a plan still fails: taking away any one of them alone makes it hold. `fails`
 * runs a plan; at most `maxRuns` times.
 */
export async function shrinkPlan(
  plan: SimulationPlan,
  fails: (plan: SimulationPlan) => Promise<boolean>,
  maxRuns = 400,
): Promise<Kept> {
  let runs = 0;
  const test = async (kept: Kept): Promise<boolean> => {
    runs += 1;
    return runs <= maxRuns && (await fails(keepOnly(plan, kept)));
  };
  let kept: Kept = { faults: [...plan.faults.keys()], requests: [...plan.requests.keys()] };
  for (;;) {
    const before = kept;
    const { faults } = kept;
    const requests = await fewest(kept.requests, (some) => test({ faults, requests: some }));
    kept = { faults: await fewest(faults, (some) => test({ faults: some, requests })), requests };
    const isSame =
      kept.faults.length === before.faults.length &&
      kept.requests.length === before.requests.length;
    if (isSame) return kept;
  }
}

/** Delta debugging by complements: takes away ever smaller chunks, as long as what is left still fails. */
async function fewest(
  items: readonly number[],
  fails: (items: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  let left = items;
  if (left.length > 0 && (await fails([]))) return [];
  for (let size = Math.ceil(left.length / 2); size >= 1; ) {
    const smaller = await withoutAChunk(left, size, fails);
    if (smaller !== null) left = smaller;
    else if (size === 1) break;
    else size = Math.ceil(size / 2);
    size = Math.min(size, Math.max(1, left.length));
  }
  return left;
}

async function withoutAChunk(
  items: readonly number[],
  size: number,
  fails: (items: readonly number[]) => Promise<boolean>,
): Promise<readonly number[] | null> {
  if (items.length <= 1) return null; // nothing at all was tried before
  for (let at = 0; at < items.length; at += size) {
    const rest = [...items.slice(0, at), ...items.slice(at + size)];
    if (rest.length > 0 && (await fails(rest))) return rest;
  }
  return null;
}
