import type {
  Catalog,
  CatalogModel,
  CatalogWorker,
  ModelCard,
  WorkerCapacity,
  WorkerRegistration,
  WorkerType,
} from "@baton/protocol";

/** The model that builders speak of unless told otherwise. */
export const testModel = "test-model";
/** When builders' actors started, in epoch ms. */
export const testGeneration = 1_700_000_000_000;

/** A mock engine's card. */
export function modelCard(changes: Partial<ModelCard> = {}): ModelCard {
  return {
    model: testModel,
    modelType: ["chat", "completions"],
    engine: "mock",
    blockSize: 64,
    hashSalt: "",
    contextLength: 131_072,
    tokenizerChecksum: "0".repeat(64),
    descriptor: null,
    capabilities: ["logprobs", "n", "seed"],
    ...changes,
  };
}

/** A worker's capacity. */
export function workerCapacity(changes: Partial<WorkerCapacity> = {}): WorkerCapacity {
  return {
    totalBlocks: 16_384,
    maxSequences: 256,
    maxBatchedTokens: 8_192,
    dpStartRank: 0,
    dpSize: 1,
    ...changes,
  };
}

/** What a test says of a registration; the rest is by default. */
export type RegistrationChanges = Partial<Omit<WorkerRegistration, "card" | "capacity">> & {
  readonly card?: Partial<ModelCard>;
  readonly capacity?: Partial<WorkerCapacity>;
};

/** A worker's registration: a decode worker `w-1` with no needs, unless changed. */
export function workerRegistration(changes: RegistrationChanges = {}): WorkerRegistration {
  const workerType = changes.workerType ?? "decode";
  return {
    id: "w-1",
    generation: testGeneration,
    namespace: "test",
    set: workerType,
    needs: [],
    topology: {},
    taints: [],
    kvTransfer: null,
    host: "test-host",
    pid: 1,
    admin: null,
    ...changes,
    workerType,
    card: modelCard(changes.card),
    capacity: workerCapacity(changes.capacity),
  };
}

const typesByLetter: Readonly<Record<string, WorkerType>> = { p: "prefill", d: "decode" };
const needsOf: Readonly<Record<WorkerType, WorkerRegistration["needs"]>> = {
  prefill: [["decode"]],
  decode: [["prefill"]],
  aggregated: [],
};

/**
 * The registration of a worker whose type is the first letter of its id: `p-1` prefills, `d-1` decodes, every other is
 * aggregated. The first two need each other.
 */
export function registrationOf(id: string, changes: RegistrationChanges = {}): WorkerRegistration {
  const workerType = changes.workerType ?? typesByLetter[id[0] ?? ""] ?? "aggregated";
  return workerRegistration({ id, workerType, needs: needsOf[workerType], ...changes });
}

/** A worker of a catalog, live unless changed. */
export function catalogWorker(
  registration: WorkerRegistration,
  changes: Partial<Omit<CatalogWorker, "registration">> = {},
): CatalogWorker {
  return { registration, state: "live", conflicts: [], ...changes };
}

/** A catalog that lists these workers. Its models are ready, one for each model name among the workers. */
export function catalog(
  workers: readonly CatalogWorker[],
  changes: Partial<Omit<Catalog, "workers">> = {},
): Catalog {
  const names = [...new Set(workers.map((worker) => worker.registration.card.model))];
  return {
    namespace: "test",
    epoch: testGeneration,
    revision: 1,
    complete: true,
    models: names.map((name) => catalogModel(name, workers)),
    ...changes,
    workers: [...workers],
  };
}

function catalogModel(model: string, workers: readonly CatalogWorker[]): CatalogModel {
  const sets = new Map<string, CatalogModel["sets"][number]>();
  for (const { registration, state } of workers) {
    if (registration.card.model !== model) continue;
    const { workerType, set } = registration;
    const key = `${workerType}/${set}`;
    const row = sets.get(key) ?? { workerType, set, live: 0, lost: 0, refused: 0 };
    if (state === "live" || state === "draining") row.live += 1;
    else row[state] += 1;
    sets.set(key, row);
  }
  return { model, ready: true, why: null, sets: [...sets.values()] };
}

/** Token ids of a prompt: `length` ids that depend on `seed`, all below `vocabulary`. */
export function promptTokens(length: number, seed = 1, vocabulary = 32_000): Uint32Array {
  const tokens = new Uint32Array(length);
  let word = seed >>> 0;
  for (let index = 0; index < length; index++) {
    // The multiplier and increment are those of Numerical Recipes' 32-bit generator.
    word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0;
    tokens[index] = (word >>> 8) % vocabulary;
  }
  return tokens;
}
