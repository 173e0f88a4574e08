import {
  type ActorHeartbeat,
  type Catalog,
  type CatalogWorker,
  type LoadReport,
  type ModelCard,
  type WorkerRegistration,
  type WorkerType,
  workerId,
} from "@baton/protocol";
import { describeModel } from "../../src/describe-model.ts";

export const modelOfTests = "smollm2";

export function cardWith(fields: Partial<ModelCard> = {}): ModelCard {
  return {
    model: modelOfTests,
    modelType: ["chat"],
    engine: "mock",
    blockSize: 64,
    hashSalt: "",
    contextLength: 4_096,
    tokenizerChecksum: "aa",
    descriptor: null,
    capabilities: [],
    ...fields,
  };
}

const needsOf: Record<WorkerType, WorkerRegistration["needs"]> = {
  prefill: [["decode"]],
  decode: [["prefill"]],
  aggregated: [],
};

/** A worker whose type is the first letter of its id: `p1`, `d2`, `a3`. */
export function registrationWith(
  id: string,
  generation = 1,
  fields: Partial<WorkerRegistration> = {},
): WorkerRegistration {
  const types = { p: "prefill", d: "decode", a: "aggregated" } as const;
  const workerType = types[id[0] as "p"] ?? "aggregated";
  return {
    id,
    generation,
    namespace: "default",
    workerType,
    set: workerType,
    needs: needsOf[workerType],
    card: cardWith(),
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

export function catalogWorker(
  id: string,
  generation = 1,
  state: CatalogWorker["state"] = "live",
): CatalogWorker {
  const conflicts =
    state === "refused" ? [{ field: "blockSize", serving: "64", offered: "16" }] : [];
  return { registration: registrationWith(id, generation), state, conflicts };
}

export function catalogWith(
  workers: readonly CatalogWorker[],
  mark: Partial<Pick<Catalog, "epoch" | "revision" | "complete">> = {},
): Catalog {
  const names = [...new Set(workers.map(({ registration }) => registration.card.model))];
  return {
    namespace: "default",
    epoch: 1,
    revision: 1,
    complete: true,
    ...mark,
    workers: [...workers],
    models: names.map((name) =>
      describeModel(
        name,
        workers.filter(({ registration }) => registration.card.model === name),
      ),
    ),
  };
}

export function heartbeatWith(id: string, fields: Partial<ActorHeartbeat> = {}): ActorHeartbeat {
  return {
    id,
    role: "worker",
    namespace: "default",
    model: null,
    generation: 1,
    sequence: 1,
    intervalMs: 250,
    state: "ready",
    why: null,
    pid: 1,
    host: "h",
    admin: null,
    workerType: null,
    set: null,
    activation: null,
    catalog: null,
    api: null,
    ...fields,
  };
}

export function loadWith(id: string, fields: Partial<LoadReport> = {}): LoadReport {
  return {
    workerId: workerId(id),
    generation: 1,
    sequence: 1,
    accepting: true,
    runningSequences: 0,
    waitingSequences: 0,
    activeBlocks: 0,
    cachedBlocks: 0,
    totalBlocks: 100,
    waitingPrefillTokens: 0,
    handoffsHeld: 0,
    endedBookings: [],
    liveBookings: null,
    ...fields,
  };
}
