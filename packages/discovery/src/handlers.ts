import {
  modelName,
  RegistrationReply,
  ServingError,
  WorkerDeregistration,
  WorkerRegistration,
  workerId,
} from "@baton/protocol";
import type { BusMessage, Peer } from "@baton/runtime";
import type { RegisterOutcome } from "./registry/registry.ts";
import type { DiscoveryState } from "./state.ts";

const noBytes = new Uint8Array();

/** A worker asks to be listed. Answered by the Discovery that speaks; a spare listens only. */
export function register(state: DiscoveryState, message: BusMessage): void {
  const { context, elders, metrics } = state;
  const outcome = takeRegistration(state, message.payload);
  state.changed();
  if (!elders.speaks) return;
  metrics.registrations.add(1, { outcome: outcome.kind });
  const reply: RegistrationReply = {
    accepted: outcome.kind === "accepted",
    epoch: context.generation,
    conflicts: outcome.kind === "refused" ? [...outcome.conflicts] : [],
    why: outcome.kind === "accepted" ? null : outcome.why,
    ...(outcome.kind === "rejected" && outcome.lostGeneration !== undefined
      ? { lostGeneration: outcome.lostGeneration }
      : {}),
  };
  message.respond(RegistrationReply.encode(reply));
}

/** A worker says that it leaves. */
export function deregister(state: DiscoveryState, message: BusMessage): void {
  const { id, generation } = decoded(state, () => WorkerDeregistration.decode(message.payload));
  if (state.registry.deregister(id, generation)) {
    state.context.log.info({ workerId: id, generation }, "worker leaves");
  }
  state.changed();
  if (state.elders.speaks) message.respond(noBytes);
}

/** A follower asks for the catalog. */
export function getCatalog(state: DiscoveryState, message: BusMessage): void {
  if (state.elders.speaks) message.respond(state.publisher.current());
}

/** A worker is heard for the first time, again, or in another state. */
export function workerHeard({ context, registry, changed }: DiscoveryState, peer: Peer): void {
  const { id, generation, state } = peer.heartbeat;
  registry.hear(id, generation, state === "draining", context.clock.nowMs());
  changed();
}

/** A worker is gone. */
export function workerLost(
  { context, registry, changed }: DiscoveryState,
  peer: Peer,
  why: string,
): void {
  const { id, generation } = peer.heartbeat;
  registry.lose(id, generation, why === "stopped", context.clock.nowMs());
  changed();
}

function takeRegistration(state: DiscoveryState, payload: Uint8Array): RegisterOutcome {
  const { context, registry, workers } = state;
  try {
    const registration = decoded(state, () => WorkerRegistration.decode(payload));
    const { id, generation } = registration;
    workerId(id);
    modelName(registration.card.model);
    const nowMs = context.clock.nowMs();
    const isKnown = registry.has(id, generation);
    const outcome = registry.register(registration, nowMs);
    const peer = workers.peer(id);
    if (peer?.heartbeat.generation === generation) {
      registry.hear(id, generation, peer.heartbeat.state === "draining", nowMs);
    }
    if (!isKnown || outcome.kind !== "accepted") {
      context.log.info(
        { workerId: id, generation, outcome: outcome.kind, why: whyOf(outcome) },
        "worker registers",
      );
    }
    return outcome;
  } catch (error) {
    return { kind: "rejected", why: ServingError.from(error).message };
  }
}

function whyOf(outcome: RegisterOutcome): string | null {
  return outcome.kind === "accepted" ? null : outcome.why;
}

function decoded<T>({ context, metrics }: DiscoveryState, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    metrics.malformed.add();
    context.log.warn({ err: error }, "malformed message");
    throw error;
  }
}
