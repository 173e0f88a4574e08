import type { ModelCard, WorkerRegistration } from "@baton/protocol";
import { type RegistrationChanges, registrationOf } from "@baton/testing";
import { Registry, type RegistryOptions } from "../../src/registry/registry.ts";

export const leaseMs = 900;
export const lostOwnsMs = 60_000;
export const forgetAfterMs = 600_000;
export const waitingClaimMs = 10_000;

export function registryWith(options: Partial<RegistryOptions> = {}): Registry {
  return new Registry({
    namespace: "test",
    leaseMs,
    lostOwnsMs,
    forgetAfterMs,
    waitingClaimMs,
    maxWorkers: 100,
    ...options,
  });
}

/** A worker of generation 1 whose type is the first letter of its id. `card` overrides fields of its card. */
export function registrationWith(
  id: string,
  card: Partial<ModelCard> = {},
  changes: Omit<RegistrationChanges, "card"> = {},
): WorkerRegistration {
  return registrationOf(id, {
    generation: 1,
    card: {
      contextLength: 4_096,
      tokenizerChecksum: "aa",
      descriptor: { kvType: "f16", layers: 30 },
      capabilities: ["seed", "n"],
      ...card,
    },
    ...changes,
  });
}

/** Each worker's state, by id. */
export function statesOf(registry: Registry): Record<string, string> {
  return Object.fromEntries(
    [...registry.entries()].map(({ registration, state }) => [registration.id, state]),
  );
}
