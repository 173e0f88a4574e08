import { subjectTable } from "@baton/protocol";
import type { Draw } from "./draw.ts";
import { noiseByte, type PlannedActor, type PlannedFault, type Temper } from "./plan.ts";
import { troubleMs } from "./plan-requests.ts";

/** Draws what goes wrong in a run, in order of time. */
export function planFaults(
  draw: Draw,
  temper: Temper,
  actors: readonly PlannedActor[],
): PlannedFault[] {
  const kinds = kindsOf[temper];
  if (kinds.length === 0) return [];
  const count = draw.integer(1, 7);
  const faults = Array.from({ length: count }, () => drawFault(draw, draw.weighted(kinds), actors));
  return faults.sort((a, b) => a.atMs - b.atMs);
}

type Kind = PlannedFault["kind"];

const kindsOf: Readonly<Record<Temper, readonly (readonly [Kind, number])[]>> = {
  calm: [],
  departures: [],
  deaths: [
    ["kill", 5],
    ["drain", 2],
    ["engine-loss", 2],
  ],
  network: [
    ["disconnect", 5],
    ["pause", 5],
    ["server-stop", 1],
  ],
  everything: [
    ["kill", 5],
    ["drain", 2],
    ["disconnect", 3],
    ["pause", 3],
    ["server-stop", 1],
    ["garbage", 2],
    ["engine-loss", 1],
  ],
};

function drawFault(draw: Draw, kind: Kind, actors: readonly PlannedActor[]): PlannedFault {
  const atMs = draw.between(0, troubleMs);
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
    case "engine-loss": {
      const workers = actors.filter(({ role }) => role === "worker");
      return { atMs, kind, id: draw.pick(workers).id, forMs: draw.between(1, 1_500) };
    }
    default:
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
