import { ServingError } from "@baton/protocol";
import type { Pull, PullRequest } from "./kv-mover.ts";

/** A pull as its mover sees it: settles once, tells when it is cancelled. */
export class PendingPull implements Pull {
  readonly request: PullRequest;
  readonly done: Promise<void>;
  /** Set by whoever carries the pull. Called once, after `done` was rejected with `cancelled`. */
  onCancel: (() => void) | null = null;
  #settled = false;
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(request: PullRequest) {
    this.request = request;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A pull whose owner has stopped listening must not end the process.
    this.done.catch(() => {});
  }

  get settled(): boolean {
    return this.#settled;
  }

  succeed(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#resolve();
  }

  fail(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#reject(error);
  }

  cancel(): void {
    if (this.#settled) return;
    this.fail(new ServingError("cancelled", { handoffId: this.request.ticket.handoffId }));
    this.onCancel?.();
  }
}
