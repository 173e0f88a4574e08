import type { WorkerView } from "@baton/cluster-view";
import { workerId } from "@baton/protocol";
import { type RegistrationChanges, registrationOf } from "@baton/testing";

/** A live worker as a view shows it; its type is the first letter of its id. */
export function viewOf(
  id: string,
  changes: RegistrationChanges & { readonly state?: WorkerView["state"] } = {},
): WorkerView {
  const { state = "live", ...registration } = changes;
  const worker = registrationOf(id, registration);
  return {
    id: workerId(id),
    generation: worker.generation,
    registration: worker,
    workerType: worker.workerType,
    state,
    load: null,
  };
}

/** Keeps KV within the worker's own rack. */
export const staysInRack = {
  kvTransfer: { domain: "rack", enforcement: "required", preferredWeight: null },
} as const;
/** Prefers the worker's own rack. */
export const prefersRack = {
  kvTransfer: { domain: "rack", enforcement: "preferred", preferredWeight: 0.5 },
} as const;
