import { describe, expect, it } from "vitest";
import { nameOf } from "../support/simulation/fault-injector.ts";
import { openStates } from "../support/simulation/plan.ts";
import { planSimulation } from "../support/simulation/plan-simulation.ts";
import { runSeed } from "../support/simulation/run-seed.ts";
import { withoutRealTime } from "../support/simulation/without-real-time.ts";

describe("a simulated cluster", { timeout: 120_000 }, () => {
  it.each([1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233])(
    "gives the same transcript twice for seed %i",
    async (seed) => {
      const lines: string[] = [];
      const first = await runSeed(seed, { onMessage: ({ subject }) => lines.push(subject) });

      const second = await runSeed(seed);

      expect(lines.length).toBeGreaterThan(100);
      expect(second).toEqual(first);
    },
  );

  it("gives another transcript for another seed", async () => {
    const digests = await Promise.all([1, 2, 3].map((seed) => runSeed(seed)));

    expect(new Set(digests.map(({ digest }) => digest)).size).toBe(3);
  });

  it("gives the same transcript whatever ran before and runs beside it", async () => {
    const alone = await runSeed(4);

    const [beside] = await Promise.all([runSeed(4), runSeed(6)]);

    expect(beside).toEqual(alone);
  });

  it("waits for no real timer and asks nothing real for time or randomness", async () => {
    const { used, result } = await withoutRealTime(() => runSeed(7));

    expect(used).toEqual([]);
    expect(result.stats.completed).toBeGreaterThan(0);
    expect(result.stats.virtualMs).toBeGreaterThan(3_000);
  });

  it("shows every temper and every fault within three hundred seeds", () => {
    const plans = Array.from({ length: 300 }, (_, seed) => planSimulation(seed));

    const faults = plans.flatMap(({ faults }) => faults);
    const tempers = new Set(plans.map(({ temper }) => temper));

    expect([...new Set(faults.map(nameOf))].sort()).toEqual([
      "cut-way both",
      "cut-way in",
      "cut-way out",
      "disconnect (long)",
      "disconnect (short)",
      "drain",
      "drain and start",
      "engine-failure",
      "engine-loss",
      "garbage",
      "kill",
      "kill and start",
      "loss",
      "pause (long)",
      "pause (short)",
      "pull-trouble cut",
      "pull-trouble spoilt",
      "server-stop (long)",
      "server-stop (short)",
      "split",
      "stolen-ticket replay",
      "stolen-ticket wrong-secret",
    ]);
    expect(new Set(faults.map(({ aims }) => aims)).size).toBe(openStates.length + 1);
    expect(faults.some((fault) => "forMs" in fault && fault.forMs === 30_000)).toBe(true);
    expect([...tempers].sort()).toEqual([
      "calm",
      "deaths",
      "departures",
      "everything",
      "network",
      "outage",
      "transfers",
    ]);
  });
});
