import type { EngineFactory } from "@baton/worker";
import { describe, expect, it } from "vitest";
import type { PlannedFault, SimulationPlan } from "../support/simulation/plan.ts";
import { planSimulation } from "../support/simulation/plan-simulation.ts";
import { simulatedEngine } from "../support/simulation/run-seed.ts";
import { keepOnly, shrinkPlan } from "../support/simulation/shrink-plan.ts";
import { smallestFailure } from "../support/simulation/smallest-failure.ts";

/** An engine whose first token is another one, but for a worker's first engine. */
async function wrongOnceLost(): Promise<EngineFactory> {
  const make = await simulatedEngine();
  const known = new Set<unknown>();
  return async (config, deps) => {
    const engine = await make(config, deps);
    if (!known.has(deps.clock)) {
      known.add(deps.clock);
      return engine;
    }
    const start = engine.start.bind(engine);
    engine.start = (events) =>
      start({
        onStep: (outputs) =>
          events.onStep(outputs.map((one) => ({ ...one, tokens: one.tokens.map(() => 65) }))),
        onPrefilled: (result) => events.onPrefilled(result),
        onFailed: (id, error) => events.onFailed(id, error),
        onKvEvents: (rank, changes) => events.onKvEvents(rank, changes),
        onLost: (error) => events.onLost(error),
        onRestored: () => events.onRestored(),
      });
    return engine;
  };
}

function planWith(faults: readonly PlannedFault[]): SimulationPlan {
  const drawn = planSimulation(1);
  const requests = drawn.requests.map((request) => ({ ...request, leaves: null }));
  return {
    ...drawn,
    temper: "everything",
    troubleMs: 2_000,
    waitsForReady: true,
    requests,
    faults,
    finalRequests: [],
  };
}

describe("a failing plan", { timeout: 120_000 }, () => {
  it("shrinks to the one fault and the one request that break a promise", async () => {
    const drawn = planSimulation(1).actors;
    const worker = drawn.find(({ workerType }) => workerType === "decode")?.id ?? "";
    const plan = planWith([
      { atMs: 10, kind: "pause", id: "disco-1", forMs: 100 },
      { atMs: 20, kind: "engine-loss", id: worker, forMs: 1 },
      { atMs: 700, kind: "garbage", row: 0, bytes: Uint8Array.of(0xc1) },
      { atMs: 900, kind: "disconnect", id: "agg-1", forMs: 100 },
    ]);
    const engine = await wrongOnceLost();
    const wrong = [`${worker} sends r-0 "AA" at 0, not "ab"`];

    const lines = await smallestFailure(plan, wrong, { engine });

    expect(lines[0]).toMatch(/^\S+ sends r-0 "A+" at \d+, not "/);
    expect(lines.filter((line) => / ms {2}/.test(line))).toEqual([
      expect.stringContaining("engine-loss"),
      expect.stringMatching(/r-0 to fe-\d/),
    ]);
    expect(lines.at(-1)).toMatch(
      /^npm run simulate -- --from 1 --count 1 --faults 1 --requests \d+$/,
    );
  });

  it("keeps what only fails together, whatever their number", async () => {
    const plan = planSimulation(3);
    const wanted = plan.requests.filter((_, index) => index % 4 === 1);

    const kept = await shrinkPlan(plan, ({ requests }) =>
      Promise.resolve(wanted.every((one) => requests.includes(one))),
    );

    expect(kept.faults).toEqual([]);
    expect(keepOnly(plan, kept).requests).toEqual(wanted);
  });

  it("stays whole where every part is needed, and ends within its number of runs", async () => {
    const plan = planSimulation(3);
    let runs = 0;

    const kept = await shrinkPlan(
      plan,
      ({ requests }) => {
        runs += 1;
        return Promise.resolve(requests.length === plan.requests.length);
      },
      25,
    );

    expect(kept.requests).toHaveLength(plan.requests.length);
    expect(runs).toBeLessThanOrEqual(25);
  });
});
