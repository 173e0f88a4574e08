import type { RequestId } from "@baton/protocol";

/** A request that waits for a worker. */
export interface QueuedRequest<Payload> {
  readonly requestId: RequestId;
  readonly arrivedMs: number;
  /** When the request is refused instead of dispatched, epoch ms; Infinity for never. */
  readonly deadlineMs: number;
  /** What the caller needs to go on with it. */
  readonly payload: Payload;
}

/** The outcome of queueing a request. */
export type Enqueued<Payload> =
  | {
      readonly kind: "queued";
      /** Another request that had to leave for this one; the caller answers it as `overloaded`. */
      readonly dropped?: QueuedRequest<Payload>;
    }
  | {
      readonly kind: "refused";
      readonly reason: "full" | "deadline_passed" | "duplicate";
      /** Requests that wait. */
      readonly current: number;
      readonly limit: number;
      readonly text: string;
    };

/** How many requests took which way out since the queue was made. `entered` is the sum of the others and `size`. */
export interface QueueCounters {
  readonly entered: number;
  readonly dispatched: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly dropped: number;
  /** Never entered: the queue was full, the deadline had passed, or the id was there. */
  readonly refused: number;
}

/**
 * Holds admitted requests until a worker has room. The caller asks for the head, tries to place it, and takes it
 * when that worked. Which request is the head is the implementation's policy.
 */
export interface RequestQueue<Payload> {
  /** Requests that wait. */
  readonly size: number;
  /** A time before which no deadline passes, epoch ms; Infinity when none is set. */
  readonly nextDeadlineMs: number;
  readonly counters: QueueCounters;
  enqueue(request: QueuedRequest<Payload>, nowMs: number): Enqueued<Payload>;
  /** The request that is next. It stays. */
  head(): QueuedRequest<Payload> | undefined;
  /** Takes the head out, as dispatched. */
  takeHead(): QueuedRequest<Payload> | undefined;
  /** Takes a request out, as cancelled; undefined if it does not wait here. */
  cancel(requestId: RequestId): QueuedRequest<Payload> | undefined;
  /** Takes out all whose deadline is at or before `nowMs`, in order of arrival. */
  expire(nowMs: number): readonly QueuedRequest<Payload>[];
  /** All that wait, in order. Not to be walked while the queue changes. */
  entries(): Iterable<QueuedRequest<Payload>>;
  /** Takes out everything, as cancelled, in order of arrival: for a drain. */
  clear(): readonly QueuedRequest<Payload>[];
}
