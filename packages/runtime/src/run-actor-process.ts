import type { EventEmitter } from "node:events";
import { hostname } from "node:os";
import { actorId, namespaceName, type ServingError } from "@baton/protocol";
import type { Logger } from "pino";
import type { ActorDefinition } from "./actor.ts";
import { type AdminServer, startAdminServer } from "./admin-server.ts";
import { type NatsAccess, readNatsAccess } from "./bus/nats-access.ts";
import { connectNats } from "./bus/nats-bus.ts";
import type { Clock } from "./clock.ts";
import { createLogger, type LogLevel } from "./logger.ts";
import { createMetricsRegistry } from "./metrics-registry.ts";
import type { Random } from "./random.ts";
import { RealClock } from "./real-clock.ts";
import type { RunningActor } from "./running-actor.ts";
import { type BusFactory, defaultDrainTimeoutMs, startActor } from "./start-actor.ts";
import { SystemRandom } from "./system-random.ts";

/** Options of every actor's process. */
export interface ProcessOptions extends NatsAccess {
  readonly namespace: string;
  readonly id?: string | undefined;
  readonly host: string;
  readonly adminPort: number;
  readonly logLevel: LogLevel;
  readonly drainTimeoutMs?: number | undefined;
  readonly heartbeatMs?: number | undefined;
  /** Ends when standard input closes, so that nothing outlives the process that started it. */
  readonly exitWithParent?: boolean | undefined;
}

/** What a process is run with. The parts of the machine can be replaced in tests. */
export interface RunOptions<Config> {
  readonly definition: ActorDefinition<Config>;
  readonly config: Config;
  readonly common: ProcessOptions;
  /** Default: NATS at `common.nats`. */
  readonly connect?: BusFactory;
  /** Default: `process`, for signals and for errors that nobody caught. */
  readonly signals?: EventEmitter;
  /** Default: `process.stdin`, whose end means that the parent is gone. */
  readonly parent?: NodeJS.ReadableStream;
  readonly log?: Logger;
  readonly clock?: Clock;
  /** Default: the system's. */
  readonly random?: Random;
  /** Told when the actor runs and its admin port is open. */
  readonly onStarted?: (actor: RunningActor, admin: AdminServer) => void;
  /** Told of the failure that ended the actor, for people; the log has it too. */
  readonly onFailed?: (failure: ServingError) => void;
}

/** Exit code for an option that cannot be used, as of one that is refused before the actor starts. */
const badOptionsCode = 2;
/** Exit code after a second signal, as shells have it for SIGINT. */
const interruptedCode = 130;
/** What the end of an actor may take beyond its drain before the process is ended by force. */
const endGraceMs = 5_000;
const endSignals = ["SIGINT", "SIGTERM"];
const fatalEvents = ["uncaughtException", "unhandledRejection"];
const parentEnds = ["end", "close", "error"];

/**
 * Runs one actor until it ends and resolves with the process's exit code: 0 after a drain, 1 after a failure, 2 if that is an
 * option, 130 after a second signal. Writes nothing to stdout. SIGINT, SIGTERM and the end of the parent's pipe start a drain.
 * Rejects with `config_invalid` before anything has started.
 */
export async function runActorProcess<Config>(options: RunOptions<Config>): Promise<number> {
  const { definition, common } = options;
  const clock = options.clock ?? new RealClock();
  const random = options.random ?? new SystemRandom();
  const id = actorId(common.id ?? random.id(definition.role));
  const log = options.log ?? createLogger({ level: common.logLevel });
  const namespace = namespaceName(common.namespace);
  const connect = options.connect ?? natsFactory(common);
  const registry = createMetricsRegistry({ processLabel: `${definition.role}-${id}` });
  const admin = await startAdminServer({
    host: common.host,
    port: common.adminPort,
    metrics: () => registry.text(),
  });
  const actor = startActor(definition, {
    id,
    namespace,
    config: options.config,
    connect,
    clock,
    random,
    log,
    metrics: registry.forActor(definition.role, id),
    identity: { host: hostname(), pid: process.pid, admin: admin.url },
    ...(common.drainTimeoutMs === undefined ? {} : { drainTimeoutMs: common.drainTimeoutMs }),
    ...(common.heartbeatMs === undefined ? {} : { heartbeatMs: common.heartbeatMs }),
  });
  admin.add(actor);
  options.onStarted?.(actor, admin);
  const code = await untilOver(actor, options, { clock, log });
  await admin.close();
  return code;
}

function natsFactory(common: ProcessOptions): BusFactory {
  const nats = readNatsAccess(common);
  return (busOptions, signal) => connectNats(nats, busOptions, signal);
}

/** Waits for the actor's end, or for a reason to end at once. */
function untilOver<Config>(
  actor: RunningActor,
  options: RunOptions<Config>,
  deps: { readonly clock: Clock; readonly log: Logger },
): Promise<number> {
  const signals: EventEmitter = options.signals ?? process;
  const parent = options.common.exitWithParent === true ? (options.parent ?? process.stdin) : null;
  const drainMs = options.common.drainTimeoutMs ?? defaultDrainTimeoutMs;
  return new Promise((resolve) => {
    let isEnding = false;
    const endInOrder = (why: string) => {
      if (isEnding) return false;
      isEnding = true;
      deps.log.info({ why }, "process ends");
      void actor.drain();
      force = deps.clock.setTimer(drainMs + endGraceMs, () => over(1));
      return true;
    };
    const onSignal = (name: string) => {
      if (!endInOrder(name)) over(interruptedCode);
    };
    const onFatal = (error: unknown) => {
      deps.log.fatal({ err: error }, "uncaught error");
      over(1);
    };
    const onParentGone = () => void endInOrder("parent is gone");
    let force: { cancel(): void } | null = null;
    const over = (code: number) => {
      force?.cancel();
      for (const name of endSignals) signals.off(name, onSignal);
      for (const name of fatalEvents) signals.off(name, onFatal);
      for (const name of parentEnds) parent?.off(name, onParentGone);
      parent?.pause();
      resolve(code);
    };
    for (const name of endSignals) signals.on(name, onSignal);
    for (const name of fatalEvents) signals.on(name, onFatal);
    for (const name of parentEnds) parent?.on(name, onParentGone);
    parent?.resume();
    void actor.done.then(({ failure }) => {
      if (failure !== null) options.onFailed?.(failure);
      over(exitCode(failure));
    });
  });
}

function exitCode(failure: ServingError | null): number {
  if (failure === null) return 0;
  return failure.code === "config_invalid" ? badOptionsCode : 1;
}
