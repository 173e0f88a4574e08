import { requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { createFcfsQueue, type QueuedRequest } from "../../src/index.ts";

const waiting = (name: string, deadlineMs = Number.POSITIVE_INFINITY): QueuedRequest<string> => ({
  requestId: requestId(name),
  arrivedMs: 0,
  deadlineMs,
  payload: `work of ${name}`,
});

const queueOf = (limit: number, ...requests: QueuedRequest<string>[]) => {
  const queue = createFcfsQueue<string>({ limit });
  for (const request of requests) queue.enqueue(request, 0);
  return queue;
};

it("gives requests out in order of arrival", () => {
  const queue = queueOf(3, waiting("a"), waiting("b"), waiting("c"));

  expect(queue.head()).toEqual(waiting("a"));
  expect([queue.takeHead(), queue.takeHead(), queue.takeHead(), queue.takeHead()]).toEqual([
    waiting("a"),
    waiting("b"),
    waiting("c"),
    undefined,
  ]);
  expect(queue.size).toBe(0);
});

describe("when full", () => {
  it("refuses the newcomer and says how many wait", () => {
    const queue = queueOf(2, waiting("a"), waiting("b"));

    expect(queue.enqueue(waiting("c"), 0)).toEqual({
      kind: "refused",
      reason: "full",
      current: 2,
      limit: 2,
      text: "the queue is full: 2 of 2 wait",
    });
    expect(queue.head()).toEqual(waiting("a"));
  });

  it("drops the oldest when told so", () => {
    const queue = createFcfsQueue<string>({ limit: 2, whenFull: "drop_oldest" });
    for (const name of ["a", "b"]) queue.enqueue(waiting(name), 0);

    expect(queue.enqueue(waiting("c"), 0)).toEqual({ kind: "queued", dropped: waiting("a") });
    expect([queue.takeHead(), queue.takeHead()]).toEqual([waiting("b"), waiting("c")]);
  });

  it.each(["refuse_newest", "drop_oldest"] as const)(
    "lets none wait at limit 0, %s",
    (whenFull) => {
      const queue = createFcfsQueue<string>({ limit: 0, whenFull });

      expect(queue.enqueue(waiting("a"), 0)).toMatchObject({ kind: "refused", reason: "full" });
      expect(queue.size).toBe(0);
    },
  );

  it("has room again when one has left", () => {
    const queue = queueOf(1, waiting("a"));

    queue.takeHead();

    expect(queue.enqueue(waiting("b"), 0)).toEqual({ kind: "queued" });
  });
});

it("refuses a request that waits already", () => {
  const queue = queueOf(2, waiting("a"));

  expect(queue.enqueue(waiting("a"), 0)).toMatchObject({ reason: "duplicate" });
  expect(queue.size).toBe(1);
});

describe("cancel", () => {
  it.each([
    { gone: "a", rest: ["b", "c"] },
    { gone: "b", rest: ["a", "c"] },
    { gone: "c", rest: ["a", "b"] },
  ])("takes $gone out and keeps the order of the rest", ({ gone, rest }) => {
    const queue = queueOf(3, waiting("a"), waiting("b"), waiting("c"));

    expect(queue.cancel(requestId(gone))).toEqual(waiting(gone));

    expect([queue.takeHead(), queue.takeHead()]).toEqual(rest.map((name) => waiting(name)));
    expect(queue.takeHead()).toBeUndefined();
  });

  it("does nothing for a request that does not wait", () => {
    expect(queueOf(1, waiting("a")).cancel(requestId("z"))).toBeUndefined();
  });
});

describe("deadlines", () => {
  it("are swept at the very moment, in order of arrival", () => {
    const queue = queueOf(4, waiting("a", 300), waiting("b", 100), waiting("c"), waiting("d", 200));

    expect(queue.nextDeadlineMs).toBe(100);
    expect(queue.expire(99)).toEqual([]);
    expect(queue.expire(200)).toEqual([waiting("b", 100), waiting("d", 200)]);
    expect(queue.nextDeadlineMs).toBe(300);
    expect(queue.head()).toEqual(waiting("a", 300));
  });

  it("that have passed keep a request out", () => {
    const queue = queueOf(1);

    expect(queue.enqueue(waiting("a", 50), 50)).toMatchObject({ reason: "deadline_passed" });
    expect(queue.enqueue(waiting("a", 51), 50)).toEqual({ kind: "queued" });
  });

  it("leave none to wait for when the last has gone", () => {
    const queue = queueOf(2, waiting("a", 100), waiting("b"));

    queue.cancel(requestId("a"));

    expect(queue.expire(100)).toEqual([]);
    expect(queue.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });
});

it("clears everything for a drain", () => {
  const queue = queueOf(3, waiting("a", 100), waiting("b"), waiting("c"));

  expect(queue.clear()).toEqual([waiting("a", 100), waiting("b"), waiting("c")]);
  expect(queue.head()).toBeUndefined();
  expect(queue.enqueue(waiting("a"), 0)).toEqual({ kind: "queued" });
  expect(queue.head()).toEqual(waiting("a"));
});

it("counts each way out", () => {
  const queue = createFcfsQueue<string>({ limit: 3, whenFull: "drop_oldest" });
  for (const name of ["a", "b", "c", "d"]) queue.enqueue(waiting(name, 100), 0);
  queue.enqueue(waiting("d"), 0);
  queue.takeHead();
  queue.cancel(requestId("c"));
  queue.expire(100);

  expect(queue.counters).toEqual({
    entered: 4,
    dispatched: 1,
    cancelled: 1,
    expired: 1,
    dropped: 1,
    refused: 1,
  });
});

it.each([-1, 1.5, Number.NaN])("refuses a limit of %s", (limit) => {
  expect(() => createFcfsQueue({ limit })).toThrow(RangeError);
});
