import type {
  ActorHeartbeat,
  ActorId,
  ActorRole,
  ActorState,
  ModelName,
  NamespaceName,
  Subjects,
} from "@baton/protocol";
import type { Logger } from "pino";
import type { z } from "zod";
import type { Bus } from "./bus/bus.ts";
import type { Clock } from "./clock.ts";
import type { Metrics } from "./metrics.ts";
import type { OptionField } from "./options.ts";
import type { Random } from "./random.ts";

/** Where an actor runs, as others see it. */
export interface Identity {
  readonly host: string;
  readonly pid: number;
  /** `http://HOST:PORT`, or null without an admin port. */
  readonly admin: string | null;
}

/** Everything that an actor is given. It takes nothing from globals. */
export interface ActorContext {
  readonly id: ActorId;
  readonly role: ActorRole;
  readonly namespace: NamespaceName;
  /** Start in epoch ms, at least one more than the last known of this id. */
  readonly generation: number;
  readonly subjects: Subjects;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly identity: Identity;
  /** Milliseconds between heartbeats. */
  readonly heartbeatMs: number;
  /** Tells the lifecycle machine that what the actor follows is known (true) or is not (false, with why). */
  setSynced(synced: boolean, why?: string): void;
  /** A failure that the actor cannot live with: the lifecycle ends in `stopped`, the process with code 1. */
  fail(error: unknown): void;
}

/** The facts that an actor adds to its heartbeat. */
export interface HeartbeatFacts {
  readonly model?: ModelName | null;
  /** A worker whose engine was restarted has a later generation than its process. */
  readonly generation?: number;
  /** `http://HOST:PORT` of a Frontend's API. */
  readonly api?: string;
  readonly workerType?: string;
  readonly set?: string;
  readonly activation?: readonly NonNullable<ActorHeartbeat["activation"]>[number][];
  readonly catalog?: {
    readonly epoch: number;
    readonly revision: number;
    readonly complete: boolean;
  };
  readonly kvBatches?: readonly NonNullable<ActorHeartbeat["kvBatches"]>[number][];
}

/** One running actor, as the lifecycle drives it. */
export interface ActorInstance {
  /** Subscribes and begins to follow; the bus is connected. Resolves once that is under way, synced or not. */
  start(): Promise<void>;
  /** Told of every change of the lifecycle's state. `ready` means: take work. */
  onState?(state: ActorState): void;
  /** Read for each heartbeat. */
  heartbeat?(): HeartbeatFacts;
  /** Takes nothing new, lets what runs finish; the caller bounds the time. */
  drain(): Promise<void>;
  /** Lets go of everything at once. Called last, also after a failed start. */
  stop(): Promise<void>;
}

/** An actor's definition: what `run-process`, `baton up` and tests start. */
export interface ActorDefinition<Config> {
  readonly role: ActorRole;
  /** Options of this role, declared once; flags, environment, types and docs come from it. */
  readonly options: OptionSet<Config>;
  create(context: ActorContext, config: Config): ActorInstance;
}

/** A declared set of options. */
export interface OptionSet<Config> {
  /** Names the set in docs and in environment variables: `worker` gives `BATON_WORKER_…`. */
  readonly name: string;
  readonly schema: z.ZodType<Config>;
  /** In order of declaration. */
  readonly fields: readonly OptionField[];
}
