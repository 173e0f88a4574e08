export type {
  ActorContext,
  ActorDefinition,
  ActorInstance,
  HeartbeatFacts,
  Identity,
  OptionSet,
} from "./actor.ts";
export type {
  Bus,
  BusMessage,
  BusState,
  BusSubscription,
  PublishOptions,
  RequestOptions,
} from "./bus/bus.ts";
export type { Clock, Timer } from "./clock.ts";
export type { Counter, Histogram, Metrics } from "./metrics.ts";
export type { Random } from "./random.ts";
