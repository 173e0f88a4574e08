import type { WorkerView } from "@baton/cluster-view";
import { deriveTransferConstraints } from "@baton/kv-router";
import type { RoutingConstraints, WorkerId } from "@baton/protocol";

/** Where a prefill worker's KV may go. Workers of one place share one object of constraints. */
export type TransferPlace =
  | { readonly kind: "known"; readonly constraints: RoutingConstraints | null }
  /** The worker's registration contradicts itself: it must not be sent a prefill. */
  | { readonly kind: "faulty"; readonly text: string };

const anywhere: TransferPlace = { kind: "known", constraints: null };

/** The transfer places of a model's prefill workers, worked out once per change of the workers. */
export class TransferPlaces {
  /** Whether some worker's KV must stay in a domain, or nobody can say whether it must. */
  readonly areRestricted: boolean;
  readonly #places = new Map<WorkerId, TransferPlace>();
  /** Of a worker that is not among them: faulty if one of them must stay in its domain. */
  readonly #unknown: TransferPlace;

  constructor(workers: readonly WorkerView[]) {
    const shared = new Map<string, TransferPlace>();
    const group = workers.map(({ registration }) => registration);
    this.#unknown = placeOf(deriveTransferConstraints(undefined, group));
    for (const worker of workers) {
      const derived = deriveTransferConstraints(worker.registration, group);
      this.#places.set(worker.id, share(shared, placeOf(derived)));
    }
    this.areRestricted = [...shared.values()].some(
      (place) => place.kind === "faulty" || (place.constraints?.requiredTaints.length ?? 0) > 0,
    );
  }

  of(workerId: WorkerId): TransferPlace {
    return this.#places.get(workerId) ?? this.#unknown;
  }
}

function placeOf(derived: ReturnType<typeof deriveTransferConstraints>): TransferPlace {
  switch (derived.kind) {
    case "unconstrained":
      return anywhere;
    case "constrained":
      return { kind: "known", constraints: derived.constraints };
    case "error":
      return { kind: "faulty", text: derived.text };
  }
}

function share(shared: Map<string, TransferPlace>, place: TransferPlace): TransferPlace {
  const key = JSON.stringify(place);
  const known = shared.get(key);
  if (known !== undefined) return known;
  shared.set(key, place);
  return place;
}
