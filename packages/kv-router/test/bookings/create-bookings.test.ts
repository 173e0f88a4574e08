import { describe, expect, it } from "vitest";
import { type BookingEntry, createBookings } from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

const entry = (name: string, facts: Partial<BookingEntry> = {}): BookingEntry => ({
  bookingId: booking(name),
  frontendId: frontend("f1"),
  workerId: worker("w1"),
  generation: 1,
  dpRank: 0,
  blocks: 4,
  promptTokens: 100,
  atMs: 0,
  ...facts,
});

const bookingsOf = (...entries: BookingEntry[]) => {
  const bookings = createBookings({ limit: 10, graceMs: 1_000 });
  for (const one of entries) bookings.book(one);
  return bookings;
};

const report = (liveBookings: string[], generation = 1) => ({
  workerId: worker("w1"),
  generation,
  dpRank: 0,
  liveBookings: liveBookings.map(booking),
});

it("counts what is booked on a worker and on each of its ranks", () => {
  const bookings = bookingsOf(
    entry("a"),
    entry("b", { dpRank: 1, blocks: 6, promptTokens: 50 }),
    entry("c", { workerId: worker("w2") }),
  );

  expect(bookings.loadOf(worker("w1"))).toMatchObject({
    requests: 2,
    blocks: 10,
    promptTokens: 150,
  });
  expect(bookings.loadOfRank(worker("w1"), 1)).toMatchObject({ requests: 1, blocks: 6 });
  expect(bookings.loadOfRank(worker("w1"), 2)).toMatchObject({ requests: 0, blocks: 0 });
  expect(bookings.loadOf(worker("w3"))).toMatchObject({ requests: 0 });
});

it("gives capacity back when a booking ends, once", () => {
  const bookings = bookingsOf(entry("a"), entry("b"));

  expect(bookings.release(booking("a"))).toEqual(entry("a"));
  expect(bookings.release(booking("a"))).toBeUndefined();

  expect(bookings.loadOf(worker("w1"))).toMatchObject({
    requests: 1,
    blocks: 4,
    promptTokens: 100,
  });
  expect(bookings.size).toBe(1);
});

it("keeps the first of two bookings with one id", () => {
  const bookings = bookingsOf(entry("a"));

  expect(bookings.book(entry("a", { workerId: worker("w2") }))).toBe("duplicate");
  expect(bookings.get(booking("a"))).toEqual(entry("a"));
});

it("refuses to hold more than its limit", () => {
  const bookings = createBookings({ limit: 1, graceMs: 0 });

  expect(bookings.book(entry("a"))).toBe("booked");
  expect(bookings.book(entry("b"))).toBe("full");
  expect(bookings.book(entry("a"))).toBe("duplicate");
  expect(bookings.reconcile(report(["a", "c"]), 0)).toEqual({ ended: [], learned: 0 });
  expect(bookings.size).toBe(1);
});

describe("reconcile", () => {
  it("ends bookings that the worker no longer names", () => {
    const bookings = bookingsOf(entry("a"), entry("b"));

    expect(bookings.reconcile(report(["b"]), 1_000)).toEqual({ ended: [entry("a")], learned: 0 });
    expect(bookings.loadOf(worker("w1"))).toMatchObject({ requests: 1 });
  });

  it("keeps a booking that is younger than the grace period", () => {
    const bookings = bookingsOf(entry("a", { atMs: 500 }));

    expect(bookings.reconcile(report([]), 1_499).ended).toEqual([]);
    expect(bookings.reconcile(report([]), 1_500).ended).toEqual([entry("a", { atMs: 500 })]);
  });

  it("leaves other workers' bookings alone", () => {
    const other = entry("a", { workerId: worker("w2") });
    const bookings = bookingsOf(other);

    bookings.reconcile(report([]), 9_999);

    expect(bookings.get(booking("a"))).toEqual(other);
  });

  it("ends an older generation's bookings at once, young or named", () => {
    const bookings = bookingsOf(entry("a"), entry("b"));

    expect(bookings.reconcile(report(["b"], 2), 0)).toEqual({
      ended: [entry("a"), entry("b")],
      learned: 1,
    });
    expect(bookings.get(booking("b"))).toMatchObject({ generation: 2 });
  });

  it("ignores a report that is older than the worker's bookings", () => {
    const young = entry("a", { generation: 2 });
    const bookings = bookingsOf(young);

    expect(bookings.reconcile(report(["z"], 1), 9_999)).toEqual({ ended: [], learned: 0 });
    expect(bookings.get(booking("a"))).toEqual(young);
    expect(bookings.size).toBe(1);
  });

  it("learns what the worker runs and nobody told, and ends it with the next report", () => {
    const bookings = bookingsOf();

    expect(bookings.reconcile(report(["a"]), 10)).toEqual({ ended: [], learned: 1 });
    expect(bookings.loadOf(worker("w1"))).toMatchObject({ requests: 1, blocks: 0 });
    expect(bookings.reconcile(report([]), 11).ended).toMatchObject([{ bookingId: "a" }]);
    expect(bookings.size).toBe(0);
  });

  it("fills in a learned booking when the booking itself is heard", () => {
    const bookings = bookingsOf();
    bookings.reconcile(report(["a"]), 0);

    expect(bookings.book(entry("a"))).toBe("booked");
    expect(bookings.loadOf(worker("w1"))).toMatchObject({ requests: 1, blocks: 4 });
    expect(bookings.dropFrontend(frontend("f1"))).toEqual([entry("a")]);
  });
});

describe("drop", () => {
  const all = [
    entry("a"),
    entry("b", { generation: 2 }),
    entry("c", { workerId: worker("w2") }),
    entry("d", { frontendId: frontend("f2") }),
  ];

  it("takes all of a lost worker's", () => {
    const bookings = bookingsOf(...all);

    expect(bookings.dropWorker(worker("w1"))).toEqual([all[0], all[1], all[3]]);
    expect(bookings.size).toBe(1);
    expect(bookings.dropWorker(worker("w1"))).toEqual([]);
  });

  it("takes those of a worker's earlier generations", () => {
    const bookings = bookingsOf(...all);

    expect(bookings.dropOlderGenerations(worker("w1"), 2)).toEqual([all[0], all[3]]);
    expect(bookings.get(booking("b"))).toEqual(all[1]);
  });

  it("takes all of a lost Frontend's, on every worker", () => {
    const bookings = bookingsOf(...all);

    expect(bookings.dropFrontend(frontend("f1"))).toEqual([all[0], all[1], all[2]]);
    expect(bookings.loadOf(worker("w1"))).toMatchObject({ requests: 1 });
    expect(bookings.dropFrontend(frontend("f1"))).toEqual([]);
  });
});
