import type { RequestTransition } from "@baton/protocol";

const finalStates = new Set(["completed", "failed", "cancelled"]);

/** Which worker each request is on, as the bus tells it. One in a handoff is on the worker that it goes to. */
export class PlacedRequests {
  readonly #workers = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** Takes one state change. */
  heard([id, state, , { workerId }]: RequestTransition): void {
    if (finalStates.has(state)) this.#place(id, null);
    else if (workerId !== undefined) this.#place(id, workerId);
  }

  /** How many are on a worker. */
  on(workerId: string): number {
    return this.#counts.get(workerId) ?? 0;
  }

  #place(id: string, workerId: string | null): void {
    const before = this.#workers.get(id);
    if (before !== undefined) this.#counts.set(before, this.on(before) - 1);
    if (workerId === null) this.#workers.delete(id);
    else {
      this.#workers.set(id, workerId);
      this.#counts.set(workerId, this.on(workerId) + 1);
    }
  }
}
