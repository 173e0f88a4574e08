import type { ActorRole } from "@baton/protocol";
import type { ActorDefinition, OptionSet } from "@baton/runtime";

/** A definition whose configuration is read from flags by its own options, so that its type need not be known. */
export interface AnyActorDefinition {
  readonly role: ActorRole;
  readonly options: OptionSet<unknown>;
  create: ActorDefinition<unknown>["create"];
}

/** The six actors, each loaded when it is asked for: what a process does not run costs it half of its start. */
const loaders: Readonly<Record<ActorRole, () => Promise<AnyActorDefinition>>> = {
  frontend: async () => (await import("@baton/frontend")).frontend as AnyActorDefinition,
  discovery: async () => (await import("@baton/discovery")).discovery as AnyActorDefinition,
  "prefill-router": async () =>
    (await import("@baton/prefill-router")).prefillRouter as AnyActorDefinition,
  "decode-router": async () =>
    (await import("@baton/decode-router")).decodeRouter as AnyActorDefinition,
  "kv-event-aggregator": async () =>
    (await import("@baton/kv-event-aggregator")).kvEventAggregator as AnyActorDefinition,
  worker: async () => (await import("@baton/worker")).worker as AnyActorDefinition,
};

/** What `baton <role>` runs. */
export function loadDefinition(role: ActorRole): Promise<AnyActorDefinition> {
  return loaders[role]();
}

/** All six. */
export async function loadDefinitions(): Promise<Readonly<Record<ActorRole, AnyActorDefinition>>> {
  const roles = Object.keys(loaders) as ActorRole[];
  const pairs = roles.map(async (role) => [role, await loaders[role]()] as const);
  return Object.fromEntries(await Promise.all(pairs)) as Record<ActorRole, AnyActorDefinition>;
}
