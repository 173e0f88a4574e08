export type {
  ActorContext,
  ActorDefinition,
  ActorInstance,
  HeartbeatFacts,
  Identity,
  OptionSet,
} from "./actor.ts";
export { ActorMetrics } from "./actor-metrics.ts";
export {
  type AdminHandler,
  type AdminPostHandler,
  type AdminServer,
  type AdminServerOptions,
  startAdminServer,
} from "./admin-server.ts";
export type { BusOptions } from "./bus/base-bus.ts";
export type {
  Bus,
  BusListener,
  BusMessage,
  BusState,
  BusSubscription,
  PublishOptions,
  RequestOptions,
} from "./bus/bus.ts";
export {
  type MemoryBusOptions,
  MemoryNetwork,
  type MemoryNetworkOptions,
  type ObservedMessage,
} from "./bus/memory-network.ts";
export { type NatsAccess, readNatsAccess } from "./bus/nats-access.ts";
export { connectNats, type NatsOptions } from "./bus/nats-bus.ts";
export type { Clock, Timer } from "./clock.ts";
export { EventHeap, type HeapEvent } from "./event-heap.ts";
export {
  type LifecycleContext,
  type LifecycleEvent,
  type LifecycleInput,
  type LifecycleState,
  lifecycleMachine,
  whyNotReady,
} from "./lifecycle-machine.ts";
export { listenProblem } from "./listen-problem.ts";
export {
  createLogger,
  type LoggerOptions,
  type LogLevel,
  logLevels,
  silentLogger,
} from "./logger.ts";
export { mergeMetricsText } from "./merge-metrics.ts";
export type { Counter, Histogram, Metrics } from "./metrics.ts";
export {
  createMetricsRegistry,
  type MetricsRegistry,
  type MetricsRegistryOptions,
} from "./metrics-registry.ts";
export {
  hasNatsServer,
  type NatsServer,
  type NatsServerOptions,
  natsInstallCommand,
  startNatsServer,
} from "./nats-server.ts";
export { noMetrics } from "./no-metrics.ts";
export {
  defineOptions,
  type OptionField,
  type OptionKind,
  type OptionSources,
  readBothOptions,
  readOptions,
} from "./options.ts";
export {
  type LostWhy,
  type Peer,
  type PeerListener,
  PeerWatch,
  type PeerWatchOptions,
} from "./peer-watch.ts";
export { ProcessClock } from "./process-clock.ts";
export type { Random } from "./random.ts";
export { RealClock } from "./real-clock.ts";
export { RecentIds } from "./recent-ids.ts";
export { type ProcessOptions, type RunOptions, runActorProcess } from "./run-actor-process.ts";
export type { ActorExit, RunningActor } from "./running-actor.ts";
export { SeededRandom } from "./seeded-random.ts";
export {
  type BusFactory,
  defaultDrainTimeoutMs,
  defaultHeartbeatMs,
  type StartOptions,
  startActor,
} from "./start-actor.ts";
export { SystemRandom } from "./system-random.ts";
export { ManualClock, VirtualClock } from "./virtual-clock.ts";
export { type XstateClock, xstateClock } from "./xstate-clock.ts";
