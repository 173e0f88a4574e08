import type { RequestId } from "@baton/protocol";
import type { Enqueued, QueueCounters, QueuedRequest, RequestQueue } from "./request-queue.ts";

export interface FcfsQueueOptions {
  /** Most requests that wait at a time. 0 lets none wait: a request is placed at once or refused. */
  readonly limit: number;
  /** Who leaves when the queue is full: the newcomer (default) or the one that has waited longest. */
  readonly whenFull?: "refuse_newest" | "drop_oldest";
}

/** A queue in order of arrival: first come, first served. Throws RangeError unless `limit` is a whole number from 0. */
export function createFcfsQueue<Payload>(options: FcfsQueueOptions): RequestQueue<Payload> {
  if (!Number.isInteger(options.limit) || options.limit < 0) {
    throw new RangeError(`a queue's limit must be a whole number from 0, not ${options.limit}`);
  }
  return new FcfsQueue(options);
}

/** A place in the line. Linked, so that a cancelled request leaves without a search. */
interface Place<Payload> {
  readonly request: QueuedRequest<Payload>;
  before: Place<Payload> | undefined;
  after: Place<Payload> | undefined;
}

class FcfsQueue<Payload> implements RequestQueue<Payload> {
  readonly #limit: number;
  readonly #dropsOldest: boolean;
  readonly #places = new Map<RequestId, Place<Payload>>();
  readonly #counters = {
    entered: 0,
    dispatched: 0,
    cancelled: 0,
    expired: 0,
    dropped: 0,
    refused: 0,
  };
  #first: Place<Payload> | undefined;
  #last: Place<Payload> | undefined;
  // Not after the earliest deadline: those who leave do not raise it, only a sweep does.
  #nextDeadlineMs = Number.POSITIVE_INFINITY;

  constructor({ limit, whenFull = "refuse_newest" }: FcfsQueueOptions) {
    this.#limit = limit;
    this.#dropsOldest = whenFull === "drop_oldest";
  }

  get size(): number {
    return this.#places.size;
  }

  get nextDeadlineMs(): number {
    return this.#nextDeadlineMs;
  }

  get counters(): QueueCounters {
    return { ...this.#counters };
  }

  enqueue(request: QueuedRequest<Payload>, nowMs: number): Enqueued<Payload> {
    if (this.#places.has(request.requestId)) {
      return this.#refuse("duplicate", `request ${request.requestId} already waits`);
    }
    if (request.deadlineMs <= nowMs) {
      return this.#refuse("deadline_passed", "the request's deadline has passed");
    }
    if (this.size < this.#limit) {
      this.#append(request);
      return { kind: "queued" };
    }
    const oldest = this.#dropsOldest ? this.#remove(this.#first, "dropped") : undefined;
    if (oldest === undefined) {
      return this.#refuse("full", `the queue is full: ${this.size} of ${this.#limit} wait`);
    }
    this.#append(request);
    return { kind: "queued", dropped: oldest };
  }

  head(): QueuedRequest<Payload> | undefined {
    return this.#first?.request;
  }

  takeHead(): QueuedRequest<Payload> | undefined {
    return this.#remove(this.#first, "dispatched");
  }

  cancel(requestId: RequestId): QueuedRequest<Payload> | undefined {
    return this.#remove(this.#places.get(requestId), "cancelled");
  }

  expire(nowMs: number): readonly QueuedRequest<Payload>[] {
    if (nowMs < this.#nextDeadlineMs) return [];
    const expired: QueuedRequest<Payload>[] = [];
    let nextDeadlineMs = Number.POSITIVE_INFINITY;
    for (let place = this.#first; place !== undefined; place = place.after) {
      const { request } = place;
      if (request.deadlineMs <= nowMs) {
        this.#remove(place, "expired");
        expired.push(request);
      } else if (request.deadlineMs < nextDeadlineMs) {
        nextDeadlineMs = request.deadlineMs;
      }
    }
    this.#nextDeadlineMs = nextDeadlineMs;
    return expired;
  }

  *entries(): Iterable<QueuedRequest<Payload>> {
    for (let place = this.#first; place !== undefined; place = place.after) yield place.request;
  }

  clear(): readonly QueuedRequest<Payload>[] {
    const cleared: QueuedRequest<Payload>[] = [];
    for (let place = this.#first; place !== undefined; place = place.after) {
      this.#remove(place, "cancelled");
      cleared.push(place.request);
    }
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    return cleared;
  }

  #append(request: QueuedRequest<Payload>): void {
    const place: Place<Payload> = { request, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    this.#places.set(request.requestId, place);
    this.#counters.entered += 1;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, request.deadlineMs);
  }

  /** Unlinks a place. Its own links stay, so that a walk can go on from it. */
  #remove(
    place: Place<Payload> | undefined,
    way: "dispatched" | "cancelled" | "expired" | "dropped",
  ): QueuedRequest<Payload> | undefined {
    if (place === undefined) return undefined;
    if (place.before === undefined) this.#first = place.after;
    else place.before.after = place.after;
    if (place.after === undefined) this.#last = place.before;
    else place.after.before = place.before;
    this.#places.delete(place.request.requestId);
    this.#counters[way] += 1;
    return place.request;
  }

  #refuse(reason: "full" | "deadline_passed" | "duplicate", text: string): Enqueued<Payload> {
    this.#counters.refused += 1;
    return { kind: "refused", reason, current: this.size, limit: this.#limit, text };
  }
}
