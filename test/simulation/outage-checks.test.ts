import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { checkOutage } from "../support/simulation/outage-checks.ts";
import type { SimulationPlan } from "../support/simulation/plan.ts";
import { planSimulation } from "../support/simulation/plan-simulation.ts";
import { busGraceMs, routerNoticeMs } from "../support/simulation/sim-cluster.ts";

const startMs = 1_000;
/** When the bus goes, and when it is back. */
const goneMs = 100;
const backMs = 600;
type Code = ConstructorParameters<typeof ServingError>[0];
type Checked =
  Parameters<typeof checkOutage>[0]["clients"] extends ReadonlyMap<string, infer C> ? C : never;

function outage(blocks: number, forMs: number): SimulationPlan {
  const drawn = planSimulation(1);
  return {
    ...drawn,
    temper: "outage",
    shape: { ...drawn.shape, blocks },
    faults: [{ atMs: goneMs, kind: "server-stop", forMs }],
  };
}

/** What is said of a request that comes at a time after the start of the trouble, and ends so. */
function problemsOf(
  code: Code | null,
  comesMs: number,
  endsMs: number,
  { blocks = 512, goneForMs = backMs - goneMs } = {},
): string[] {
  const summary = {} as Extract<Checked["end"], { kind: "completed" }>["summary"];
  const end: Checked["end"] =
    code === null
      ? { kind: "completed", summary }
      : { kind: "failed", summary, stage: "prefill.queued", error: new ServingError(code) };
  const client = {
    requestId: "r-0",
    submittedAtMs: startMs + comesMs,
    end,
    endedAtMs: startMs + endsMs,
  };
  const problems: string[] = [];
  const trouble = { plan: outage(blocks, goneForMs), startMs, clients: new Map([["r-0", client]]) };
  checkOutage(trouble, (problem) => problems.push(problem));
  return problems;
}

describe("checks of an outage", () => {
  it.each(["worker_lost", "router_lost", "engine_lost"] as const)(
    "%s blames somebody for it",
    (code) => {
      expect(problemsOf(code, 0, 200)).toEqual([
        `r-0 fails with ${code} where only the bus was gone`,
      ]);
    },
  );

  it("nobody waits for the bus beyond the limit", () => {
    expect(problemsOf("bus_unavailable", 0, goneMs + busGraceMs)).toEqual([]);
    expect(problemsOf("bus_unavailable", 0, goneMs + busGraceMs + 400)).toEqual([
      `r-0 waits ${busGraceMs + 400} ms for the bus`,
    ]);
  });

  it("an ask that it has cost is missed within a notice once it is back", () => {
    const goneForMs = busGraceMs - 100;
    const missedMs = goneMs + goneForMs + routerNoticeMs;
    expect(problemsOf("bus_unavailable", 0, missedMs + 200, { goneForMs })).toEqual([]);
    expect(problemsOf("bus_unavailable", 0, missedMs + 400, { goneForMs })).toHaveLength(1);
    const tooLong = { goneForMs: busGraceMs + 100 };
    expect(problemsOf("bus_unavailable", 0, missedMs + 200, tooLong)).toHaveLength(1);
  });

  it("who comes two seconds after the bus is back is served, but for want of room", () => {
    expect(problemsOf("not_ready", backMs + 1_900, backMs + 1_950)).toEqual([]);
    expect(problemsOf(null, backMs + 2_000, backMs + 2_500)).toEqual([]);
    expect(problemsOf("not_ready", backMs + 2_000, backMs + 2_050)).toEqual([
      expect.stringMatching(/^r-0 is not served 2000 ms after the bus is back: .*not_ready/),
    ]);
    expect(problemsOf("overloaded", backMs + 2_000, backMs + 2_050)).toHaveLength(1);
    expect(problemsOf("overloaded", backMs + 2_000, backMs + 2_050, { blocks: 32 })).toEqual([]);
  });

  it("in every run somebody comes to each Frontend just then", () => {
    const outages = Array.from({ length: 200 }, (_, seed) => planSimulation(seed)).filter(
      ({ temper }) => temper === "outage",
    );
    expect(outages.length).toBeGreaterThan(3);

    for (const { faults, requests, shape, troubleMs } of outages) {
      const [fault] = faults;
      if (fault?.kind !== "server-stop") throw new Error("an outage without one");
      const atMs = fault.atMs + fault.forMs + 2_000;
      const after = requests.filter((one) => one.atMs === atMs && one.leaves === null);
      expect(after).toHaveLength(shape.frontends);
      expect(atMs).toBeLessThan(troubleMs);
    }
  });
});
