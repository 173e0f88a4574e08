import { type ActorId, actorId, type NamespaceName, Subjects } from "@baton/protocol";
import type { Logger } from "pino";
import type { ActorContext, ActorDefinition, Identity } from "./actor.ts";
import { ActorHost } from "./actor-host.ts";
import type { ActorMetrics } from "./actor-metrics.ts";
import type { BusOptions } from "./bus/base-bus.ts";
import type { Bus } from "./bus/bus.ts";
import type { Clock } from "./clock.ts";
import type { Metrics } from "./metrics.ts";
import type { Random } from "./random.ts";
import type { RunningActor } from "./running-actor.ts";

/** Makes the bus of one actor. Resolves when it is connected; gives up when `signal` is aborted. */
export type BusFactory = (options: BusOptions, signal: AbortSignal) => Promise<Bus>;

/** What an actor is started with. */
export interface StartOptions<Config> {
  /** Default: the role and 80 random bits. */
  readonly id?: string;
  readonly namespace: NamespaceName;
  readonly config: Config;
  readonly connect: BusFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** `ActorMetrics` are dropped when the actor has stopped. */
  readonly metrics: Metrics | ActorMetrics | ((id: ActorId) => ActorMetrics);
  readonly identity: Identity;
  /** Milliseconds that running work may take after a drain starts, default 25,000: orchestrators kill at 30 s. */
  readonly drainTimeoutMs?: number;
  /** Milliseconds between life signs, default 250. */
  readonly heartbeatMs?: number;
  /** The last known generation of this id, if there is one. */
  readonly lastGeneration?: number;
}

/** Milliseconds between life signs. */
export const defaultHeartbeatMs = 250;
/** Milliseconds that running work may take after a drain starts. */
export const defaultDrainTimeoutMs = 25_000;

/**
 * Starts an actor: connects it, starts it, publishes its life signs, answers pings and probes. Returns at once.
 * Throws `config_invalid` if the id is no subject token.
 */
export function startActor<Config>(
  definition: ActorDefinition<Config>,
  options: StartOptions<Config>,
): RunningActor {
  const id = actorId(options.id ?? options.random.id(definition.role));
  const generation = Math.max(Math.floor(options.clock.nowMs()), (options.lastGeneration ?? 0) + 1);
  const metrics = typeof options.metrics === "function" ? options.metrics(id) : options.metrics;
  const log = options.log.child({ actor: definition.role, id });
  const subjects = new Subjects(options.namespace);
  const host = new ActorHost({
    id,
    role: definition.role,
    namespace: options.namespace,
    generation,
    subjects,
    clock: options.clock,
    random: options.random,
    log,
    metrics,
    identity: options.identity,
    heartbeatMs: options.heartbeatMs ?? defaultHeartbeatMs,
    drainTimeoutMs: options.drainTimeoutMs ?? defaultDrainTimeoutMs,
    connect: options.connect,
    create: (context: ActorContext) => definition.create(context, options.config),
  });
  host.begin();
  return host;
}
