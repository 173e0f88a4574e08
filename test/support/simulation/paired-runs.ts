import { isDeepStrictEqual } from "node:util";
import { SeededRandom } from "@baton/runtime";
import { Draw } from "./draw.ts";
import type { PlannedActor, PlannedFault, PlannedRequest, SimulationPlan } from "./plan.ts";
import { planSimulation } from "./plan-simulation.ts";
import type { RequestOutcome } from "./request-outcome.ts";
import { runPlan } from "./run-seed.ts";

type WorkerType = Exclude<PlannedActor["workerType"], null>;

/** Requests of a pair that come one after the other, and the time of each in ms. */
const inTurn = 8;
const turnMs = 900;

/**
 * The same requests to prefill and decode workers and to aggregated ones: texts, log-probabilities and usage must be the
 * same, however the streams were cut. Returns what differs, in words.
 */
export async function compareServing(seed: number): Promise<string[]> {
  const calm = roomy(planSimulation(seed));
  const disaggregated = withWorkers(calm, { prefill: 2, decode: 2, aggregated: 0 });
  const aggregated = withWorkers(calm, { prefill: 0, decode: 0, aggregated: 2 });
  return differencesOf(await outcomes(disaggregated), await outcomes(aggregated));
}

/** The same one after the other with one worker of a role: what caches hold is the same too. */
export async function compareCachedTokens(seed: number): Promise<string[]> {
  const calm = roomy(planSimulation(seed));
  const requests = calm.requests
    .slice(0, inTurn)
    .map((request, index) => ({ ...shortened(request), atMs: index * turnMs }));
  const turns = { ...calm, requests, troubleMs: inTurn * turnMs };
  const disaggregated = withWorkers(turns, { prefill: 1, decode: 1, aggregated: 0 });
  const aggregated = withWorkers(turns, { prefill: 0, decode: 0, aggregated: 1 });
  return differencesOf(await outcomes(disaggregated), await outcomes(aggregated), true);
}

/** The same plan with one thing that goes wrong: whom it does not concern is answered as without it. */
export async function compareDisturbed(seed: number): Promise<string[]> {
  const calm = withWorkers(roomy(planSimulation(seed)), { prefill: 2, decode: 2, aggregated: 0 });
  const draw = new Draw(new SeededRandom(`disturbance-${seed}`));
  const disturbed = disturb(calm, draw);
  const [without, withIt] = [await outcomes(calm), await outcomes(disturbed)];
  const known = new Map(without.map((outcome) => [outcome.requestId, outcome]));
  const differences: string[] = [];
  for (const outcome of withIt) {
    const before = known.get(outcome.requestId);
    if (before === undefined || isConcerned(disturbed, outcome)) continue;
    const what = differenceOf(before, outcome, false);
    if (what !== null) differences.push(`${nameOfDisturbance(disturbed)}: ${what}`);
  }
  return differences;
}

async function outcomes(plan: SimulationPlan): Promise<readonly RequestOutcome[]> {
  const found: RequestOutcome[] = [];
  const run = await runPlan(plan, { onOutcome: (outcome) => found.push(outcome) });
  if (run.violations.length > 0) throw new Error(run.violations.join("\n"));
  return found;
}

function differencesOf(
  some: readonly RequestOutcome[],
  others: readonly RequestOutcome[],
  withCached = false,
): string[] {
  const known = new Map(others.map((outcome) => [outcome.requestId, outcome]));
  return some.flatMap((outcome) => {
    const other = known.get(outcome.requestId);
    const what = other === undefined ? "has no pair" : differenceOf(outcome, other, withCached);
    return what === null ? [] : [what];
  });
}

function differenceOf(
  one: RequestOutcome,
  other: RequestOutcome,
  withCached: boolean,
): string | null {
  const fields = ["kind", "code", "choices", "promptTokens"] as const;
  for (const field of withCached ? ([...fields, "cachedTokens"] as const) : fields) {
    if (isDeepStrictEqual(one[field], other[field])) continue;
    const said = `${JSON.stringify(one[field])}, then ${JSON.stringify(other[field])}`;
    return `${one.requestId} differs in ${field}: ${said}`;
  }
  return null;
}

/** One client leaves or does not read, or one worker dies, leaves, fails or cannot pull. */
function disturb(plan: SimulationPlan, draw: Draw): SimulationPlan {
  const atMs = draw.between(50, 1_500);
  const forMs = 400;
  const id = draw.pick(plan.actors.filter(({ role }) => role === "worker")).id;
  const fault = (one: PlannedFault): SimulationPlan => ({
    ...plan,
    temper: "everything",
    faults: [one],
  });
  const leaving = (leaves: PlannedRequest["leaves"]): SimulationPlan => {
    const index = draw.integer(0, plan.requests.length - 1);
    const requests = plan.requests.map((one, at) => (at === index ? { ...one, leaves } : one));
    return { ...plan, temper: "departures", requests };
  };
  return draw.pick([
    () => leaving({ kind: "after", ms: draw.between(0, 200) }),
    () => leaving({ kind: "reading", characters: 5 }),
    () => fault({ atMs, kind: "kill", id, backAfterMs: null }),
    () => fault({ atMs, kind: "drain", id, backAfterMs: 500 }),
    () => fault({ atMs, kind: "engine-loss", id, forMs }),
    () => fault({ atMs, kind: "engine-failure", id, forMs }),
    () => fault({ atMs, kind: "pull-trouble", id, how: "spoilt", forMs }),
    () => fault({ atMs, kind: "pull-trouble", id, how: "cut", forMs }),
  ])();
}

/** Who leaves, and whose worker it is that something happens to. */
function isConcerned({ faults, requests }: SimulationPlan, outcome: RequestOutcome): boolean {
  const index = Number(outcome.requestId.replace("r-", ""));
  if (requests[index] !== undefined && requests[index].leaves !== null) return true;
  return faults.some((fault) => "id" in fault && outcome.workers.includes(fault.id));
}

function nameOfDisturbance({ faults }: SimulationPlan): string {
  const [fault] = faults;
  if (fault === undefined) return "a client leaves";
  return "id" in fault ? `${fault.kind} of ${fault.id}` : fault.kind;
}

/** A plan in which nothing goes wrong and nothing is short. */
function roomy(plan: SimulationPlan): SimulationPlan {
  return {
    ...plan,
    temper: "calm",
    waitsForReady: true,
    troubleMs: 2_000,
    shape: { ...plan.shape, blocks: 2_048, maxSequences: 64, maxPendingMessages: 65_536 },
    requests: plan.requests.map((request) => ({ ...request, leaves: null })),
    faults: [],
    finalRequests: [],
    endsWithGarbage: false,
  };
}

function shortened(request: PlannedRequest): PlannedRequest {
  const maxTokens = Math.min(request.output.maxTokens, 24);
  return { ...request, output: { ...request.output, maxTokens } };
}

function withWorkers(
  plan: SimulationPlan,
  counts: Readonly<Record<WorkerType, number>>,
): SimulationPlan {
  const others = plan.actors.filter(({ role }) => role !== "worker");
  const names = { prefill: "wp", decode: "wd", aggregated: "wa" } as const;
  const workers = (["prefill", "decode", "aggregated"] as const).flatMap((workerType) =>
    Array.from({ length: counts[workerType] }, (_, index) => ({
      id: `${names[workerType]}-${index + 1}`,
      role: "worker" as const,
      workerType,
      rack: null,
      startsAtMs: 0,
    })),
  );
  return {
    ...plan,
    shape: { ...plan.shape, ...counts, racks: 0 },
    actors: [...others, ...workers],
  };
}
