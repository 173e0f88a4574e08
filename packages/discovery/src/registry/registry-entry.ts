import type { CatalogWorker, WorkerRegistration } from "@baton/protocol";
import { type CardConflict, modelPrint, setPrint } from "./card-fingerprint.ts";

/** One worker in the registry: its last registration and what has been heard of it since. */
export interface RegistryEntry {
  registration: WorkerRegistration;
  /** Names its set among the sets of its model. */
  setKey: string;
  setPrint: string;
  modelPrint: string;
  state: CatalogWorker["state"];
  /** Of a refused worker: what differs. */
  conflicts: readonly CardConflict[];
  /** No heartbeat of this generation has been heard; it is given up at `unheardUntilMs`. */
  unheard: boolean;
  unheardUntilMs: number;
  /** When it was found to be lost. */
  lostAtMs: number;
  /** When its waiting began: its registration, or the refusal that ended its service. */
  refusedAtMs: number;
  /** When it asked last. */
  askedAtMs: number;
}

/** An entry that is neither let in nor refused yet. */
export function makeEntry(
  registration: WorkerRegistration,
  nowMs: number,
  leaseMs: number,
): RegistryEntry {
  return {
    registration,
    ...namesOf(registration),
    state: "refused",
    conflicts: [],
    unheard: true,
    unheardUntilMs: nowMs + leaseMs,
    lostAtMs: 0,
    refusedAtMs: nowMs,
    askedAtMs: nowMs,
  };
}

/** Takes another registration of the same start. True if it says anything else. */
export function updateEntry(entry: RegistryEntry, registration: WorkerRegistration): boolean {
  const changed = JSON.stringify(entry.registration) !== JSON.stringify(registration);
  entry.registration = registration;
  Object.assign(entry, namesOf(registration));
  return changed;
}

/** The entry as it stands in a catalog. */
export function toCatalogWorker(entry: RegistryEntry): CatalogWorker {
  return {
    registration: entry.registration,
    state: entry.state,
    conflicts: entry.conflicts.map((conflict) => ({ ...conflict })),
  };
}

function namesOf(
  registration: WorkerRegistration,
): Pick<RegistryEntry, "setKey" | "setPrint" | "modelPrint"> {
  return {
    setKey: JSON.stringify([registration.workerType, registration.set]),
    setPrint: setPrint(registration),
    modelPrint: modelPrint(registration),
  };
}
