import { createFcfsQueue, type Enqueued, type RequestQueue } from "@baton/kv-router";
import type { ActorId, RequestId } from "@baton/protocol";
import type { DeskRequest } from "./desk-policy.ts";

/** A request that waits, or is looked at for the first time. */
export interface Waiting<Request> {
  readonly request: Request;
  readonly arrivedMs: number;
  readonly isStaged: boolean;
  /** Requests of one kind may go to the same workers: where one finds no room, none does. */
  readonly kind: string;
  /** The kind within that kind of those who must go where their session is, as of the last attempt; null: go anywhere. */
  boundKind: string | null;
}

/** What became of an attempt to place a request: it has left (dispatched or refused), or it must wait. */
export type Placed = "left" | "waits";

/**
 * The requests of one desk that wait for room. Those whose KV is staged go first. Within each of the two queues the
 * order is that of arrival; a request that finds no room stands aside for later ones of another kind, so that a pin to a
 * busy worker holds up nobody else.
 */
export class WaitingRoom<Request extends DeskRequest> {
  readonly #staged: RequestQueue<Waiting<Request>>;
  readonly #others: RequestQueue<Waiting<Request>>;
  /** The kinds, and those of bound sessions, that found no room since the last `place`. */
  readonly #stuck = new Set<string>();

  /** `limit`: most requests in each of the two queues. */
  constructor(limit: number) {
    this.#staged = createFcfsQueue({ limit });
    this.#others = createFcfsQueue({ limit });
  }

  get size(): number {
    return this.#staged.size + this.#others.size;
  }

  /** Whether some wait whose KV is staged. */
  get hasStaged(): boolean {
    return this.#staged.size > 0;
  }

  /** Whether a request like this would find no room, as far as is known. */
  isStuck({ kind, boundKind }: Pick<Waiting<Request>, "kind" | "boundKind">): boolean {
    return this.#stuck.has(kind) || (boundKind !== null && this.#stuck.has(boundKind));
  }

  /** Notes that there was no room for a request, so that others like it are not tried. */
  stick({ kind, boundKind }: Pick<Waiting<Request>, "kind" | "boundKind">): void {
    this.#stuck.add(boundKind ?? kind);
  }

  /** Whether there is anything to place, or a kind to look at again. */
  get isIdle(): boolean {
    return this.size === 0 && this.#stuck.size === 0;
  }

  enter(waiting: Waiting<Request>): Enqueued<Waiting<Request>> {
    const { request, arrivedMs } = waiting;
    return this.#queueOf(waiting).enqueue(
      {
        requestId: request.requestId,
        arrivedMs,
        deadlineMs: arrivedMs + request.timeoutMs,
        payload: waiting,
      },
      arrivedMs,
    );
  }

  /** Room may have come: tries what waits, in order, but for what is stuck. */
  place(attempt: (waiting: Waiting<Request>) => Placed): void {
    this.#stuck.clear();
    for (const queue of [this.#staged, this.#others]) {
      const left: RequestId[] = [];
      for (const { requestId, payload } of queue.entries()) {
        if (!this.isStuck(payload) && attempt(payload) === "left") left.push(requestId);
      }
      for (const requestId of left) takeOut(queue, requestId);
    }
  }

  cancel(requestId: RequestId): void {
    this.#staged.cancel(requestId);
    this.#others.cancel(requestId);
  }

  /** Sessions may have gone elsewhere since their requests were tried. */
  forgetBound(): void {
    for (const queue of [this.#staged, this.#others]) {
      for (const { payload } of queue.entries()) payload.boundKind = null;
    }
  }

  /** Takes out what a Frontend asked for, up to that generation of it. */
  dropFrontend(frontendId: ActorId, generation: number): readonly Request[] {
    const dropped: Request[] = [];
    for (const queue of [this.#staged, this.#others]) {
      for (const { requestId, payload } of [...queue.entries()]) {
        const { request } = payload;
        if (request.frontendId !== frontendId || request.frontendGeneration > generation) continue;
        queue.cancel(requestId);
        dropped.push(request);
      }
    }
    return dropped;
  }

  /** Takes out whose time is over. */
  expire(nowMs: number): readonly Request[] {
    return [this.#staged, this.#others].flatMap((queue) =>
      queue.expire(nowMs).map(({ payload }) => payload.request),
    );
  }

  /** Takes out everything. */
  clear(): readonly Request[] {
    this.#stuck.clear();
    return [this.#staged, this.#others].flatMap((queue) =>
      queue.clear().map(({ payload }) => payload.request),
    );
  }

  #queueOf({ isStaged }: Waiting<Request>): RequestQueue<Waiting<Request>> {
    return isStaged ? this.#staged : this.#others;
  }
}

/** Takes a placed request out: as dispatched where it is the head, else out of the middle. */
function takeOut(queue: RequestQueue<unknown>, requestId: RequestId): void {
  if (queue.head()?.requestId === requestId) queue.takeHead();
  else queue.cancel(requestId);
}
