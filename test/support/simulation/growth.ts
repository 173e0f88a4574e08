import type { RequestPort, RequestSink } from "@baton/frontend";
import { requestId } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { Draw } from "./draw.ts";
import { whatIsHeld } from "./end-checks.ts";
import type { PlannedActor, SimulationPlan } from "./plan.ts";
import { planSimulation } from "./plan-simulation.ts";
import { simulatedEngine } from "./run-seed.ts";
import { SimCluster, simModel } from "./sim-cluster.ts";

/** What a cluster at rest holds. */
export interface Holdings {
  readonly timers: number;
  readonly subscriptions: number;
  /** Gauges of what is held that are not zero. */
  readonly held: readonly string[];
}

/** Requests that come evenly. */
export interface Load {
  readonly count: number;
  readonly betweenMs: number;
  /** Whether a fifth of the clients leave, prompts and outputs differ in length, and some end with a stop text. */
  readonly isMixed: boolean;
}

/** How many of each actor serve. */
export interface GrowthShape {
  readonly frontends: number;
  readonly routers: number;
  /** Of prefill, and as many of decode. */
  readonly workers: number;
}

/** A cluster that serves as many requests as it is asked to, and says what it holds afterwards. */
export class GrowingCluster {
  readonly cluster: SimCluster;
  readonly #draw = new Draw(new SeededRandom("growth"));
  readonly #subscriptions = new Set<object>();
  #served = 0;
  #completed = 0;

  private constructor(cluster: SimCluster) {
    this.cluster = cluster;
    const { network } = cluster;
    const add = network.addSubscription.bind(network);
    const remove = network.removeSubscription.bind(network);
    network.addSubscription = (subscription) => {
      this.#subscriptions.add(subscription);
      add(subscription);
    };
    network.removeSubscription = (subscription) => {
      this.#subscriptions.delete(subscription);
      remove(subscription);
    };
  }

  static async start(shape: GrowthShape): Promise<GrowingCluster> {
    const plan = planOf(shape);
    const growing = new GrowingCluster(new SimCluster(plan, await simulatedEngine()));
    for (const actor of plan.actors) growing.cluster.start(actor);
    await growing.cluster.clock.advanceBy(5_000);
    return growing;
  }

  /** Serves requests, in virtual time. Returns how many were completed so far. */
  async serve({ betweenMs, count, isMixed }: Load): Promise<number> {
    const { clock } = this.cluster;
    const ports = this.cluster.living().flatMap(({ organs }) => organs.port ?? []);
    for (let index = 0; index < count; index++) {
      const port = ports[index % ports.length];
      if (port !== undefined) this.#submit(port, isMixed);
      await clock.advanceBy(betweenMs);
    }
    return this.#completed;
  }

  holdings(): Holdings {
    return {
      timers: this.cluster.clock.pendingTimers,
      subscriptions: this.#subscriptions.size,
      held: whatIsHeld(this.cluster),
    };
  }

  #submit(port: RequestPort, isMixed: boolean): void {
    const draw = this.#draw;
    this.#served += 1;
    const sink: RequestSink = {
      output: () => undefined,
      ended: ({ kind }) => {
        if (kind === "completed") this.#completed += 1;
      },
    };
    const length = isMixed ? draw.integer(20, 100) : 64;
    const tokens = Uint32Array.from({ length }, () => draw.integer(0, 255));
    const output = { maxTokens: isMixed ? draw.integer(1, 24) : 16, n: 1, temperature: 0 };
    const handle = port.submit(
      {
        requestId: requestId(`g-${this.#served}`),
        model: simModel,
        prompt: { kind: "tokens", tokens },
        output,
        stop: isMixed && draw.chance(0.1) ? ["-1"] : [],
        clientRequestId: null,
        traceparent: null,
      },
      sink,
    );
    if (!isMixed || !draw.chance(0.2)) return;
    this.cluster.clock.setTimer(draw.between(0, 80), () => handle.cancel());
  }
}

function planOf({ frontends, routers, workers }: GrowthShape): SimulationPlan {
  const drawn = planSimulation(1);
  const actor = (
    count: number,
    name: string,
    role: PlannedActor["role"],
    workerType: PlannedActor["workerType"] = null,
  ): PlannedActor[] =>
    Array.from({ length: count }, (_, index) => ({
      id: `${name}-${index + 1}`,
      role,
      workerType,
      rack: null,
      startsAtMs: 0,
    }));
  return {
    ...drawn,
    shape: {
      ...drawn.shape,
      isDecodeOnly: false,
      routerMode: "kv",
      sessionTtlSecs: null,
      predictsOnRoute: false,
      minDelayMs: 0.1,
      maxDelayMs: 0.3,
      maxPayloadBytes: 1024 * 1024,
      maxPendingMessages: 65_536,
      prefillMs: 5,
      decodeMs: 1,
      transferGbps: 0,
      // So few that every cache is full soon, and what the indices hold of it.
      blocks: 96,
      maxSequences: 16,
      racks: 0,
    },
    actors: [
      ...actor(1, "disco", "discovery"),
      ...actor(1, "agg", "kv-event-aggregator"),
      ...actor(frontends, "fe", "frontend"),
      ...actor(routers, "pr", "prefill-router"),
      ...actor(routers, "dr", "decode-router"),
      ...actor(workers, "wp", "worker", "prefill"),
      ...actor(workers, "wd", "worker", "decode"),
    ],
  };
}
