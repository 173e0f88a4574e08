import { hostname } from "node:os";
import { actorId, namespaceName, Subjects } from "@baton/protocol";
import { diskSources, loadPolicy } from "@baton/routing";
import {
  type AdminServer,
  type Bus,
  createLogger,
  createMetricsRegistry,
  type MetricsRegistry,
  type NatsAccess,
  noMetrics,
  type OptionSet,
  readOptions,
  startAdminServer,
} from "@baton/runtime";
import { ClusterMonitor } from "../bus-tools/cluster-monitor.ts";
import type { CommandIo } from "../command-io.ts";
import { upOptions } from "../common-options.ts";
import { randomOf } from "../random-of.ts";
import { type BusChoice, chooseBus } from "../up/bus-choice.ts";
import type { Cluster } from "../up/cluster.ts";
import { chooseEngine, type EngineChoice } from "../up/engine-choice.ts";
import { serveExplain } from "../up/explain-route.ts";
import { frontendFlags, upFrontendOptions } from "../up/frontend-flags.ts";
import { collectWhenIdle, ownUse } from "../up/idle-collection.ts";
import { startLocalCluster } from "../up/local-cluster.ts";
import { type PlannedActor, planCluster, workerCounts } from "../up/plan.ts";
import { startProcessCluster } from "../up/process-cluster.ts";
import { runUntilSignal } from "../up/run-until-signal.ts";
import { serveTail } from "../up/tail-route.ts";
import { engineFlags, upWorkerOptions } from "../up/worker-flags.ts";

export { upFrontendOptions, upWorkerOptions };

type UpConfig = typeof upOptions extends OptionSet<infer Config> ? Config : never;

/** `baton up`: every actor on this machine, until a signal comes. */
export async function up(flags: Readonly<Record<string, unknown>>, io: CommandIo): Promise<number> {
  // Until the actors are started there is nothing to drain, and what is started by then ends with this process.
  const forgetEarlySignals = io.onSignal(() => io.exit(0));
  try {
    return await upUntilSignal(flags, io, forgetEarlySignals);
  } finally {
    forgetEarlySignals();
  }
}

async function upUntilSignal(
  flags: Readonly<Record<string, unknown>>,
  io: CommandIo,
  onStarted: () => void,
): Promise<number> {
  const config = readOptions(upOptions, { flags, env: io.env });
  // What is wrong with the policy is said here, before anything runs.
  await loadPolicy(config, diskSources);
  const forFrontend = frontendFlags(flags, io.env);
  const counts = workerCounts(config);
  const choice = await chooseEngine({ ...config, install: flags["install-engine"] === true }, io);
  const tag = io.random.id("x").slice(2, 8);
  const plan = planCluster({
    ...config,
    ...counts,
    routerMode: config.routerMode ?? null,
    policyFile: config.policyFile ?? null,
    frontendFlags: forFrontend,
    workerFlags: engineFlags(choice, flags, io.env, counts),
    tag,
  });
  const bus = await chooseBus(config, { ...io, path: io.env.PATH ?? "" });
  try {
    return await upOnBus({ config, counts, choice, plan, bus, tag, onStarted }, io);
  } finally {
    await bus.stop();
  }
}

interface Up {
  readonly config: UpConfig;
  readonly counts: ReturnType<typeof workerCounts>;
  readonly choice: EngineChoice;
  readonly plan: readonly PlannedActor[];
  readonly bus: BusChoice;
  readonly tag: string;
  /** Called in the turn in which the actors were started: signals are the cluster's from then on. */
  readonly onStarted: () => void;
}

async function upOnBus(parts: Up, io: CommandIo): Promise<number> {
  const { config, bus } = parts;
  const registry = createMetricsRegistry({ processLabel: "up" });
  const subjects = new Subjects(namespaceName(config.namespace));
  const log = createLogger({ level: config.logLevel });
  const own = await bus.connect(
    { id: actorId(`up-${parts.tag}`), subjects, clock: io.clock, log, metrics: noMetrics },
    AbortSignal.timeout(10_000),
  );
  const monitor = new ClusterMonitor({ bus: own, subjects, clock: io.clock });
  // Processes of one actor each are left to V8: they are for speed.
  const idle = config.processes ? null : collectWhenIdle(io.clock, ownUse());
  let cluster: Cluster | null = null;
  const admin = await startAdminServer({
    host: config.host,
    port: config.adminPort,
    metrics: () => cluster?.metrics() ?? registry.text(),
  }).catch(async (error: unknown) => {
    await own.close();
    throw error;
  });
  try {
    monitor.start();
    admin.handle("/status", (_url, response) => {
      response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
      response.end(`${JSON.stringify(monitor.status())}\n`);
    });
    serveTail(admin, { bus: own, subjects, clock: io.clock });
    serveExplain(admin, { bus: own, subjects });
    cluster = await startCluster(parts, { registry, admin, monitor, own, log }, io);
    parts.onStarted();
    return await runUntilSignal(
      { ...parts, model: parts.choice.modelName, cluster, monitor, admin },
      io,
    );
  } finally {
    idle?.cancel();
    monitor.stop();
    await admin.close();
    await own.close();
  }
}

interface Shared {
  readonly registry: MetricsRegistry;
  readonly admin: AdminServer;
  readonly monitor: ClusterMonitor;
  readonly own: Bus;
  readonly log: ReturnType<typeof createLogger>;
}

function startCluster(parts: Up, shared: Shared, io: CommandIo): Promise<Cluster> {
  const { config, plan, bus } = parts;
  if (config.processes) {
    const common = {
      nats: bus.natsUrl ?? "",
      namespace: config.namespace,
      host: config.host,
      "log-level": config.logLevel,
      "drain-timeout-ms": String(config.drainTimeoutMs),
      ...natsFiles(config),
      ...(config.seed !== undefined && { seed: String(config.seed) }),
    };
    return startProcessCluster(plan, {
      common,
      env: io.env,
      heartbeats: () => shared.monitor.heartbeats(),
      ownMetrics: () => shared.registry.text(),
    });
  }
  return startLocalCluster(plan, {
    namespace: namespaceName(config.namespace),
    connect: bus.connect,
    clock: io.clock,
    randomFor: randomOf(config.seed),
    log: shared.log,
    registry: shared.registry,
    admin: shared.admin,
    host: hostname(),
    pid: process.pid,
    drainTimeoutMs: config.drainTimeoutMs,
  });
}

/** The files with which every actor's process reaches NATS. */
function natsFiles(access: Omit<NatsAccess, "nats">): Readonly<Record<string, string>> {
  const { natsCreds, natsCa, natsCert, natsKey } = access;
  return {
    ...(natsCreds !== undefined && { "nats-creds": natsCreds }),
    ...(natsCa !== undefined && { "nats-ca": natsCa }),
    ...(natsCert !== undefined && { "nats-cert": natsCert }),
    ...(natsKey !== undefined && { "nats-key": natsKey }),
  };
}
