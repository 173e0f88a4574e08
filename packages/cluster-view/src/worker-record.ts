import {
  type CatalogWorker,
  type LoadReport,
  type WorkerId,
  type WorkerRegistration,
  type WorkerType,
  workerId,
} from "@baton/protocol";
import type { WorkerView } from "./cluster-view.ts";

/** What a follower's own ears say of a worker: `unheard` leaves the word to the catalog. */
export type WorkerLife = "unheard" | "heard" | "lost";

/** One generation of a worker. It changes in place, so that a load report costs two assignments. */
export class WorkerRecord implements WorkerView {
  readonly id: WorkerId;
  readonly generation: number;
  registration: WorkerRegistration;
  state: WorkerView["state"] = "live";
  load: LoadReport | null = null;
  /** What Discovery says; `null` once the catalog lists it no more. */
  listed: "live" | "draining" | "lost" | null;
  life: WorkerLife = "unheard";
  /** Its heartbeat says that it drains. */
  drains = false;
  /** When an unheard worker counts as lost. */
  graceUntilMs: number;

  constructor(worker: CatalogWorker, graceUntilMs: number) {
    this.id = workerId(worker.registration.id);
    this.generation = worker.registration.generation;
    this.registration = worker.registration;
    this.listed = listedState(worker);
    this.graceUntilMs = graceUntilMs;
    this.settle();
  }

  get workerType(): WorkerType {
    return this.registration.workerType;
  }

  get model(): string {
    return this.registration.card.model;
  }

  /** Takes what a later catalog says of the same generation. */
  relist(worker: CatalogWorker): void {
    this.registration = worker.registration;
    this.listed = listedState(worker);
  }

  /** Works out `state` from all that is known. True if it has changed. */
  settle(): boolean {
    const before = this.state;
    this.state = this.#judge();
    return this.state !== before;
  }

  #judge(): WorkerView["state"] {
    // Own ears win: a Discovery that was frozen for a moment takes everybody for lost.
    if (this.life === "lost") return "lost";
    if (this.life === "unheard" && this.listed === "lost") return "lost";
    const takesWork = this.listed !== null && this.listed !== "draining" && !this.drains;
    return takesWork && this.load?.accepting !== false ? "live" : "draining";
  }
}

function listedState({ state }: CatalogWorker): WorkerRecord["listed"] {
  return state === "refused" ? null : state;
}
