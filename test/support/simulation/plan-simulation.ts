import type { ActorRole } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { Draw } from "./draw.ts";
import type { ClusterShape, PlannedActor, SimulationPlan, Temper } from "./plan.ts";
import { drawTroubleMs, planFaults } from "./plan-faults.ts";
import { finalRequests, planRequests, requestsAfterOutage } from "./plan-requests.ts";

/** Draws from a seed what a run is. */
export function planSimulation(seed: number): SimulationPlan {
  const random = new SeededRandom(`simulation-${seed}`);
  const draw = new Draw(random);
  const temper = draw.weighted<Temper>([
    ["calm", 2],
    ["departures", 2],
    ["deaths", 3],
    ["transfers", 2],
    ["outage", 1],
    ["network", 3],
    ["everything", 5],
  ]);
  const shape = drawShape(draw);
  const actors = drawActors(draw, shape);
  const troubleMs = drawTroubleMs(draw, temper);
  const requests = planRequests(draw, temper, shape, troubleMs);
  const faults = planFaults(draw, temper, { actors, troubleMs });
  const after = temper === "outage" ? requestsAfterOutage(draw, shape, faults) : [];
  return {
    seed,
    temper,
    shape,
    actors,
    waitsForReady: readyFirst.has(temper) || draw.chance(0.85),
    troubleMs,
    requests: [...requests, ...after].sort((a, b) => a.atMs - b.atMs),
    faults,
    finalRequests: finalRequests(draw, shape),
    endsWithGarbage: draw.chance(0.25),
  };
}

/** Where a request has no reason to fail before something goes wrong. */
const readyFirst: ReadonlySet<Temper> = new Set(["calm", "departures", "outage"]);

function drawShape(draw: Draw): ClusterShape {
  const kind = draw.weighted([
    ["disaggregated", 8],
    ["mixed", 1],
    ["aggregated", 1],
  ] as const);
  const isSlow = draw.chance(0.3);
  const minDelayMs = draw.chance(0.2) ? 0 : draw.between(0.05, isSlow ? 3 : 0.5);
  const isCramped = draw.chance(0.25);
  const prefill = kind === "aggregated" ? 0 : draw.integer(1, 3);
  const decode = kind === "aggregated" ? 0 : draw.integer(1, 3);
  return {
    frontends: drawReplicas(draw),
    prefillRouters: drawReplicas(draw),
    decodeRouters: drawReplicas(draw),
    prefill,
    decode,
    aggregated: kind === "disaggregated" ? 0 : draw.integer(1, 2),
    isDecodeOnly: draw.chance(0.25),
    routerMode: draw.weighted([
      ["kv", 6],
      ["least-loaded", 2],
      ["two-tier", 1],
      ["round-robin", 1],
      ["random", 1],
      ["power-of-two", 1],
    ] as const),
    sessionTtlSecs: draw.chance(0.3) ? draw.integer(1, 30) : null,
    predictsOnRoute: draw.chance(0.2),
    minDelayMs,
    maxDelayMs: minDelayMs + draw.between(0, isSlow ? 20 : 2),
    maxPayloadBytes: draw.chance(0.15) ? 1_024 : 1024 * 1024,
    maxPendingMessages: draw.chance(0.15) ? 60 : 65_536,
    prefillMs: draw.between(1, 60),
    decodeMs: draw.between(0.5, 12),
    transferGbps: draw.chance(0.5) ? 0 : draw.between(0.2, 4),
    blocks: isCramped ? draw.integer(24, 48) : 512,
    maxSequences: isCramped ? draw.integer(2, 4) : 64,
    racks: kind === "disaggregated" && draw.chance(0.25) ? Math.min(2, prefill, decode) : 0,
    hasSpareDiscovery: draw.chance(0.15),
    hasSpareAggregator: draw.chance(0.15),
  };
}

function drawReplicas(draw: Draw): number {
  return draw.weighted([
    [1, 9],
    [2, 9],
    [3, 2],
  ]);
}

function drawActors(draw: Draw, shape: ClusterShape): PlannedActor[] {
  const actors: PlannedActor[] = [];
  const add = (
    count: number,
    name: string,
    role: ActorRole,
    workerType: PlannedActor["workerType"] = null,
  ) => {
    for (let number = 1; number <= count; number++) {
      const rack = shape.racks === 0 ? null : `r${(number % shape.racks) + 1}`;
      const startsAtMs = draw.between(0, 400);
      actors.push({ id: `${name}-${number}`, role, workerType, rack, startsAtMs });
    }
  };
  add(shape.frontends, "fe", "frontend");
  add(shape.hasSpareDiscovery ? 2 : 1, "disco", "discovery");
  add(shape.prefillRouters, "pr", "prefill-router");
  add(shape.decodeRouters, "dr", "decode-router");
  add(shape.hasSpareAggregator ? 2 : 1, "agg", "kv-event-aggregator");
  add(shape.prefill, "wp", "worker", "prefill");
  add(shape.decode, "wd", "worker", "decode");
  add(shape.aggregated, "wa", "worker", "aggregated");
  return actors.sort((a, b) => a.startsAtMs - b.startsAtMs);
}
