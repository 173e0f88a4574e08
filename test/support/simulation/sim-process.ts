import { createFrontendCore, frontendOptions, type RequestPort } from "@baton/frontend";
import type { ActorRole } from "@baton/protocol";
import type { ActorDefinition, ProcessClock, RunningActor } from "@baton/runtime";
import type { PlannedActor } from "./plan.ts";
import type { SimEngine } from "./sim-engine.ts";
import type { SimMetrics } from "./sim-metrics.ts";
import type { SimMover } from "./sim-mover.ts";
import { sharedText } from "./sim-text.ts";

/** One life of one actor: a process that may stop, die and leave. */
export interface SimProcess {
  readonly id: string;
  readonly role: ActorRole;
  readonly planned: PlannedActor;
  readonly actor: RunningActor;
  readonly clock: ProcessClock;
  readonly metrics: SimMetrics;
  readonly organs: SimOrgans;
  /** `left`: it drained or stopped by itself. */
  phase: "running" | "paused" | "dead" | "left";
  isConnected: boolean;
  /** How often its way to the bus failed. */
  cuts: number;
  isWayCut: boolean;
  diedAtMs: number | null;
}

/** What the simulator holds of the inside of a process. Filled when the actor makes it. */
export interface SimOrgans {
  /** Set when the process is killed: what it was waiting for comes to nothing. */
  isDead: boolean;
  port: RequestPort | null;
  engine: SimEngine | null;
  mover: SimMover | null;
}

type FrontendConfig = Parameters<typeof createFrontendCore>[1];

/** A Frontend without HTTP, whose port the simulator's clients use. */
export function frontendWithPort(organs: SimOrgans): ActorDefinition<FrontendConfig> {
  return {
    role: "frontend",
    options: frontendOptions,
    create: (context, config) => {
      const core = createFrontendCore(context, config, sharedText);
      organs.port = core;
      return core;
    },
  };
}
