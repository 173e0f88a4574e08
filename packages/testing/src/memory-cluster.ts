import {
  type ActorId,
  type ActorRole,
  actorId,
  type NamespaceName,
  namespaceName,
  Subjects,
} from "@baton/protocol";
import {
  type ActorContext,
  type ActorDefinition,
  type Bus,
  createMetricsRegistry,
  MemoryNetwork,
  type MemoryNetworkOptions,
  type MetricsRegistry,
  ProcessClock,
  type RunningActor,
  SeededRandom,
  silentLogger,
  startActor,
  VirtualClock,
} from "@baton/runtime";

/** How a cluster in memory is made. */
export interface MemoryClusterOptions
  extends Partial<Omit<MemoryNetworkOptions, "clock" | "random">> {
  readonly seed?: number | string;
  readonly namespace?: string;
  readonly log?: ActorContext["log"];
  /** Milliseconds between heartbeats, default 250. */
  readonly heartbeatMs?: number;
}

/** Who a context is for. */
export interface TestContextOptions {
  readonly role: ActorRole;
  readonly id: string;
  readonly generation?: number;
}

/** An actor's context, with what the test sees of it. */
export interface TestContext extends ActorContext {
  readonly clock: ProcessClock;
  /** What the actor said by `setSynced`, in order: null for synced, else why not. */
  readonly syncs: readonly (string | null)[];
  /** What it gave to `fail`, in order. */
  readonly failures: readonly unknown[];
}

/** A cluster in one process: a clock that the test moves, a seed, and a network in memory. */
export interface MemoryCluster {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly network: MemoryNetwork;
  readonly namespace: NamespaceName;
  readonly subjects: Subjects;
  readonly metrics: MetricsRegistry;
  /** Joins the network as somebody who is no actor: to listen, and to play a part. */
  bus(id: string): Bus;
  /** The context of an actor that the test drives by itself. It stops and dies with its member of the network. */
  context(options: TestContextOptions): TestContext;
  /** Starts an actor with its whole lifecycle. It stops and dies with its member of the network. */
  start<Config>(
    definition: ActorDefinition<Config>,
    config: Config,
    options?: {
      readonly id?: string;
      readonly lastGeneration?: number;
      readonly drainTimeoutMs?: number;
    },
  ): RunningActor;
}

const identity = { host: "test-host", pid: 1, admin: null } as const;

/** Makes a cluster in memory. The same seed gives the same run. */
export function memoryCluster(options: MemoryClusterOptions = {}): MemoryCluster {
  const clock = new VirtualClock();
  const random = new SeededRandom(options.seed ?? 1);
  const network = new MemoryNetwork({ ...options, clock, random: random.fork("network") });
  const namespace = namespaceName(options.namespace ?? "test");
  const subjects = new Subjects(namespace);
  const metrics = createMetricsRegistry();
  const log = options.log ?? silentLogger();
  const heartbeatMs = options.heartbeatMs ?? 250;
  const join = (role: string, id: ActorId, process: ProcessClock) =>
    network.connect({
      id,
      subjects,
      clock: process,
      process,
      log,
      metrics: metrics.forActor(role, id),
    });
  return {
    clock,
    random,
    network,
    namespace,
    subjects,
    metrics,
    bus: (id) => join("test", actorId(id), new ProcessClock(clock)),
    context: (who) => {
      const id = actorId(who.id);
      const process = new ProcessClock(clock);
      const syncs: (string | null)[] = [];
      const failures: unknown[] = [];
      return {
        id,
        role: who.role,
        namespace,
        generation: who.generation ?? Math.floor(clock.nowMs()),
        subjects,
        bus: join(who.role, id, process),
        clock: process,
        random: random.fork(id),
        log,
        metrics: metrics.forActor(who.role, id),
        identity,
        heartbeatMs,
        setSynced: (synced, why) => void syncs.push(synced ? null : (why ?? "not synced")),
        fail: (error) => void failures.push(error),
        syncs,
        failures,
      };
    },
    start: (definition, config, how = {}) => {
      const process = new ProcessClock(clock);
      return startActor(definition, {
        ...how,
        id: how.id ?? random.id(definition.role),
        namespace,
        config,
        connect: (busOptions) => Promise.resolve(network.connect({ ...busOptions, process })),
        clock: process,
        random: random.fork(how.id ?? definition.role),
        log,
        metrics: (id) => metrics.forActor(definition.role, id),
        identity,
        heartbeatMs,
      });
    },
  };
}
