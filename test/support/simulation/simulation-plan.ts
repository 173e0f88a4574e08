import type { ActorRole } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { planFaults } from "./plan-faults.ts";
import { finalRequests, planRequests } from "./plan-requests.ts";

/** The byte that no message begins with: msgpack leaves it unused. */
export const noiseByte = 0xc1;

/** What may go wrong in a run: nothing but clients, processes, connections, or all of it. */
export type Temper = "calm" | "departures" | "deaths" | "network" | "everything";

/** How many of each actor a run has, and how its network and engines are. */
export interface ClusterShape {
  readonly frontends: number;
  readonly prefillRouters: number;
  readonly decodeRouters: number;
  readonly prefill: number;
  readonly decode: number;
  readonly aggregated: number;
  /** Decode workers that serve without prefill workers too. */
  readonly isDecodeOnly: boolean;
  readonly routerMode: "round-robin" | "random" | "least-loaded";
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  readonly maxPayloadBytes: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
  readonly transferGbps: number;
  /** KV blocks of one worker: few ones make it evict, preempt and refuse. */
  readonly blocks: number;
  readonly maxSequences: number;
}

/** The output that a planned request asks for. */
export interface PlannedOutput {
  readonly maxTokens: number;
  readonly n: number;
  readonly stop: readonly string[];
  readonly temperature: number;
  readonly samplingSeed: number;
}

/** One client. */
export interface PlannedRequest {
  readonly atMs: number;
  readonly frontend: number;
  readonly prompt:
    | { readonly kind: "tokens"; readonly tokens: Uint32Array }
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "chat"; readonly text: string };
  readonly output: PlannedOutput;
  /** When the client leaves, after it came; null if it waits for the end. */
  readonly leavesAfterMs: number | null;
}

/** One thing that goes wrong. Times are after the start of the trouble. */
export type PlannedFault = { readonly atMs: number } & (
  | { readonly kind: "kill" | "drain"; readonly id: string; readonly backAfterMs: number | null }
  | { readonly kind: "pause" | "disconnect"; readonly id: string; readonly forMs: number }
  | { readonly kind: "server-stop"; readonly forMs: number }
  | { readonly kind: "garbage"; readonly row: number; readonly bytes: Uint8Array }
);

/** One actor of a run. */
export interface PlannedActor {
  readonly id: string;
  readonly role: ActorRole;
  readonly workerType: "prefill" | "decode" | "aggregated" | null;
  readonly startsAtMs: number;
}

/** All that a seed decides before the run. */
export interface SimulationPlan {
  readonly seed: number;
  readonly temper: Temper;
  readonly shape: ClusterShape;
  readonly actors: readonly PlannedActor[];
  /** Whether clients and trouble begin only when every actor is ready. */
  readonly waitsForReady: boolean;
  readonly requests: readonly PlannedRequest[];
  readonly faults: readonly PlannedFault[];
  /** The clients after the trouble. */
  readonly finalRequests: readonly PlannedRequest[];
  /** Whether every subject gets bytes that are no message, at the end. */
  readonly endsWithGarbage: boolean;
}

/** Draws from a seed what a run is. */
export function planSimulation(seed: number): SimulationPlan {
  const random = new SeededRandom(`simulation-${seed}`);
  const draw = new Draw(random);
  const temper = draw.weighted<Temper>([
    ["calm", 2],
    ["departures", 2],
    ["deaths", 3],
    ["network", 3],
    ["everything", 4],
  ]);
  const shape = drawShape(draw);
  const actors = drawActors(draw, shape);
  return {
    seed,
    temper,
    shape,
    actors,
    waitsForReady: temper === "calm" || temper === "departures" || draw.chance(0.85),
    requests: planRequests(draw, temper, shape),
    faults: planFaults(draw, temper, actors),
    finalRequests: finalRequests(draw, shape),
    endsWithGarbage: draw.chance(0.25),
  };
}

function drawShape(draw: Draw): ClusterShape {
  const kind = draw.weighted([
    ["disaggregated", 8],
    ["mixed", 1],
    ["aggregated", 1],
  ] as const);
  const isSlow = draw.chance(0.3);
  const minDelayMs = draw.chance(0.2) ? 0 : draw.between(0.05, isSlow ? 3 : 0.5);
  const isCramped = draw.chance(0.25);
  return {
    frontends: draw.integer(1, 2),
    prefillRouters: draw.integer(1, 2),
    decodeRouters: draw.integer(1, 2),
    prefill: kind === "aggregated" ? 0 : draw.integer(1, 3),
    decode: kind === "aggregated" ? 0 : draw.integer(1, 3),
    aggregated: kind === "disaggregated" ? 0 : draw.integer(1, 2),
    isDecodeOnly: draw.chance(0.25),
    routerMode: draw.pick(["round-robin", "random", "least-loaded"] as const),
    minDelayMs,
    maxDelayMs: minDelayMs + draw.between(0, isSlow ? 20 : 2),
    maxPayloadBytes: draw.chance(0.15) ? 1_024 : 1024 * 1024,
    prefillMs: draw.between(1, 60),
    decodeMs: draw.between(0.5, 12),
    transferGbps: draw.chance(0.5) ? 0 : draw.between(0.2, 4),
    blocks: isCramped ? draw.integer(24, 48) : 512,
    maxSequences: isCramped ? draw.integer(2, 4) : 64,
  };
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
      actors.push({ id: `${name}-${number}`, role, workerType, startsAtMs: draw.between(0, 400) });
    }
  };
  add(shape.frontends, "fe", "frontend");
  add(1, "disco", "discovery");
  add(shape.prefillRouters, "pr", "prefill-router");
  add(shape.decodeRouters, "dr", "decode-router");
  add(1, "agg", "kv-event-aggregator");
  add(shape.prefill, "wp", "worker", "prefill");
  add(shape.decode, "wd", "worker", "decode");
  add(shape.aggregated, "wa", "worker", "aggregated");
  return actors.sort((a, b) => a.startsAtMs - b.startsAtMs);
}

/** Choices from a seeded generator. */
export class Draw {
  readonly random: SeededRandom;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  chance(probability: number): boolean {
    return this.random.number() < probability;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.random.number();
  }

  /** Both ends included. */
  integer(low: number, high: number): number {
    return low + (this.random.u32() % (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.random.u32() % items.length];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  weighted<T>(choices: readonly (readonly [item: T, weight: number])[]): T {
    let rest = this.random.number() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of choices) {
      rest -= weight;
      if (rest < 0) return item;
    }
    throw new Error("nothing to choose from");
  }
}
