import type { ModelCard, WorkerRegistration, WorkerType } from "@baton/protocol";
import { Registry, type RegistryOptions } from "../../src/registry/registry.ts";

export const leaseMs = 900;
export const lostOwnsMs = 60_000;
export const forgetAfterMs = 600_000;
export const waitingClaimMs = 10_000;

export function registryWith(options: Partial<RegistryOptions> = {}): Registry {
  return new Registry({
    namespace: "default",
    leaseMs,
    lostOwnsMs,
    forgetAfterMs,
    waitingClaimMs,
    maxWorkers: 100,
    ...options,
  });
}

const types = { p: "prefill", d: "decode", a: "aggregated" } as const;
const needsOf: Record<WorkerType, WorkerRegistration["needs"]> = {
  prefill: [["decode"]],
  decode: [["prefill"]],
  aggregated: [],
};

/** A worker whose type is the first letter of its id. `card` overrides fields of its card. */
export function registrationWith(
  id: string,
  card: Partial<ModelCard> = {},
  fields: Partial<WorkerRegistration> = {},
): WorkerRegistration {
  const workerType = types[id[0] as "p"];
  return {
    id,
    generation: 1,
    namespace: "default",
    workerType,
    set: workerType,
    needs: needsOf[workerType],
    card: {
      model: "smollm2",
      modelType: ["chat", "completions"],
      engine: "mock",
      blockSize: 64,
      hashSalt: "",
      contextLength: 4_096,
      tokenizerChecksum: "aa",
      descriptor: { kvType: "f16", layers: 30 },
      capabilities: ["seed", "n"],
      ...card,
    },
    capacity: {
      totalBlocks: 100,
      maxSequences: 8,
      maxBatchedTokens: 512,
      dpStartRank: 0,
      dpSize: 1,
    },
    topology: {},
    taints: [],
    kvTransfer: null,
    host: "h",
    pid: 1,
    admin: null,
    ...fields,
  };
}

/** Each worker's state, by id. */
export function statesOf(registry: Registry): Record<string, string> {
  return Object.fromEntries(
    [...registry.entries()].map(({ registration, state }) => [registration.id, state]),
  );
}
