import { subjectTable } from "@baton/protocol";
import type { Draw } from "./draw.ts";
import {
  noiseByte,
  openStates,
  type PlannedActor,
  type PlannedFault,
  servesAgainMs,
  type Temper,
} from "./plan.ts";

type Kind = PlannedFault["kind"];
/** Who may be hit, and when. */
interface Scene {
  readonly actors: readonly PlannedActor[];
  readonly troubleMs: number;
}

/** How long the bus stays away where it is gone for long, where it is not, and when it goes at the latest, in ms. */
const longOutageMs = 30_000;
const shortOutageMs = 3_000;
const outageByMs = 1_500;

/** Draws how long things go wrong, in ms. */
export function drawTroubleMs(draw: Draw, temper: Temper): number {
  if (temper === "outage") {
    const outageMs = draw.chance(0.3) ? longOutageMs : shortOutageMs;
    return outageByMs + outageMs + servesAgainMs + 500;
  }
  if (temper === "calm" || temper === "departures") return 2_000;
  return draw.chance(0.8) ? 2_000 : 6_000;
}

/** Draws what goes wrong in a run, in order of time. */
export function planFaults(draw: Draw, temper: Temper, scene: Scene): PlannedFault[] {
  if (temper === "outage") return [drawOutage(draw, scene)];
  const kinds = kindsOf[temper];
  if (kinds.length === 0) return [];
  const count = draw.integer(1, 7);
  const faults = Array.from({ length: count }, () => {
    const fault = drawFault(draw, draw.weighted(kinds), scene);
    const aims = "id" in fault && draw.chance(0.4);
    return aims ? { ...fault, aims: draw.pick(openStates) } : fault;
  });
  return faults.sort((a, b) => a.atMs - b.atMs);
}

const kindsOf: Readonly<Record<Exclude<Temper, "outage">, readonly (readonly [Kind, number])[]>> = {
  calm: [],
  departures: [],
  deaths: [
    ["kill", 5],
    ["drain", 2],
    ["engine-loss", 2],
  ],
  transfers: [
    ["pull-trouble", 5],
    ["engine-failure", 3],
    ["stolen-ticket", 3],
  ],
  network: [
    ["disconnect", 4],
    ["pause", 4],
    ["cut-way", 4],
    ["loss", 3],
    ["server-stop", 1],
  ],
  everything: [
    ["kill", 6],
    ["drain", 3],
    ["disconnect", 3],
    ["pause", 4],
    ["cut-way", 2],
    ["loss", 2],
    ["server-stop", 1],
    ["garbage", 2],
    ["engine-loss", 2],
    ["engine-failure", 1],
    ["pull-trouble", 2],
    ["stolen-ticket", 1],
  ],
};

/** The bus is gone once, for a moment or for long, and back before the trouble is over. */
function drawOutage(draw: Draw, { troubleMs }: Scene): PlannedFault {
  const atMs = draw.between(100, outageByMs);
  const forMs = troubleMs > longOutageMs ? longOutageMs : draw.between(50, shortOutageMs);
  return { atMs, kind: "server-stop", forMs };
}

function drawFault(draw: Draw, kind: Kind, { actors, troubleMs }: Scene): PlannedFault {
  const atMs = draw.between(0, troubleMs);
  const workers = actors.filter(({ role }) => role === "worker");
  switch (kind) {
    case "server-stop":
      return { atMs, kind, forMs: drawLength(draw) };
    case "garbage":
      return { atMs, kind, row: draw.integer(0, subjectTable.length - 1), bytes: garbage(draw) };
    case "kill":
    case "drain": {
      const backAfterMs = draw.chance(0.6) ? draw.between(0, 2_000) : null;
      return { atMs, kind, id: drawTarget(draw, actors), backAfterMs };
    }
    case "engine-loss":
    case "engine-failure":
      return { atMs, kind, id: draw.pick(workers).id, forMs: draw.between(1, 1_500) };
    case "pull-trouble": {
      const how = draw.pick(["cut", "spoilt"] as const);
      return { atMs, kind, id: draw.pick(workers).id, how, forMs: draw.between(50, 1_500) };
    }
    case "stolen-ticket":
      return { atMs, kind, how: draw.pick(["wrong-secret", "replay"] as const) };
    case "cut-way": {
      const way = draw.pick(["in", "out", "both"] as const);
      return { atMs, kind, id: drawTarget(draw, actors), way, forMs: drawLength(draw) };
    }
    case "loss": {
      const share = draw.chance(0.5) ? 1 : draw.between(0.02, 0.5);
      return { atMs, kind, id: drawTarget(draw, actors), share, forMs: drawLength(draw) };
    }
    case "disconnect":
    case "pause":
      return { atMs, kind, id: drawTarget(draw, actors), forMs: drawLength(draw) };
  }
}

/** Workers meet their fate as often as all others together. */
function drawTarget(draw: Draw, actors: readonly PlannedActor[]): string {
  const isWorker = draw.chance(0.5);
  return draw.pick(actors.filter(({ role }) => (role === "worker") === isWorker)).id;
}

/** Blinks, absences that are longer than a lease, and some after which a worker is given up for good. */
function drawLength(draw: Draw): number {
  return draw.weighted([
    [() => draw.between(1, 400), 5],
    [() => draw.between(400, 1_800), 3],
    [() => draw.between(1_800, 5_000), 2],
  ])();
}

/** Bytes that no message begins with: the unused code, then noise. */
function garbage(draw: Draw): Uint8Array {
  return Uint8Array.of(noiseByte, ...draw.random.bytes(draw.integer(0, 20)));
}
