import { decodeRouter } from "@baton/decode-router";
import { discovery } from "@baton/discovery";
import { frontend } from "@baton/frontend";
import { kvEventAggregator } from "@baton/kv-event-aggregator";
import { prefillRouter } from "@baton/prefill-router";
import type { ActorRole } from "@baton/protocol";
import type { ActorDefinition, OptionSet } from "@baton/runtime";
import { worker } from "@baton/worker";

/** A definition whose configuration is read from flags by its own options, so that its type need not be known. */
export interface AnyActorDefinition {
  readonly role: ActorRole;
  readonly options: OptionSet<unknown>;
  create: ActorDefinition<unknown>["create"];
}

/** The six actors. */
export const definitions: Readonly<Record<ActorRole, AnyActorDefinition>> = {
  frontend: frontend as AnyActorDefinition,
  discovery: discovery as AnyActorDefinition,
  "prefill-router": prefillRouter as AnyActorDefinition,
  "decode-router": decodeRouter as AnyActorDefinition,
  "kv-event-aggregator": kvEventAggregator as AnyActorDefinition,
  worker: worker as AnyActorDefinition,
};
