import { describe, expect, it } from "vitest";
import { createBookings } from "../../src/bookings/create-bookings.ts";
import type { BookingEntry, LiveBooking } from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

const entry = (name: string, facts: Partial<BookingEntry> = {}): BookingEntry => ({
  bookingId: booking(name),
  frontendId: frontend("f1"),
  frontendGeneration: 1,
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

const live = (name: string, facts: Partial<LiveBooking> = {}): LiveBooking => ({
  bookingId: booking(name),
  dpRank: null,
  promptBlocks: null,
  prefillTokens: null,
  outputTokens: null,
  ...facts,
});

const report = (names: string[], generation = 1) => ({
  workerId: worker("w1"),
  generation,
  dpRank: 0,
  live: names.map((name) => live(name)),
});

it("ends a booking once", () => {
  const bookings = bookingsOf(entry("a"), entry("b"));

  expect(bookings.release(booking("a"))).toEqual(entry("a"));
  expect(bookings.release(booking("a"))).toBeUndefined();

  expect(bookings.get(booking("a"))).toBeUndefined();
  expect(bookings.get(booking("b"))).toEqual(entry("b"));
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
  expect(bookings.reconcile(report(["a", "c"]), 0)).toEqual({ ended: [], learned: [] });
  expect(bookings.size).toBe(1);
});

describe("reconcile", () => {
  it("ends bookings that the worker no longer names", () => {
    const bookings = bookingsOf(entry("a"), entry("b"));

    expect(bookings.reconcile(report(["b"]), 1_000)).toEqual({ ended: [entry("a")], learned: [] });
    expect(bookings.get(booking("b"))).toEqual(entry("b"));
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

    expect(bookings.reconcile(report(["b"], 2), 0)).toMatchObject({
      ended: [entry("a"), entry("b")],
      learned: [{ bookingId: "b", generation: 2 }],
    });
    expect(bookings.get(booking("b"))).toMatchObject({ generation: 2 });
  });

  it("ignores a report that is older than the worker's bookings", () => {
    const young = entry("a", { generation: 2 });
    const bookings = bookingsOf(young);

    expect(bookings.reconcile(report(["z"], 1), 9_999)).toEqual({ ended: [], learned: [] });
    expect(bookings.get(booking("a"))).toEqual(young);
    expect(bookings.size).toBe(1);
  });

  it("learns what the worker runs and nobody told, and ends it with the next report", () => {
    const bookings = bookingsOf();

    expect(bookings.reconcile(report(["a"]), 10)).toEqual({
      ended: [],
      learned: [
        entry("a", {
          frontendId: null,
          frontendGeneration: 0,
          blocks: 0,
          promptTokens: 0,
          atMs: 10,
        }),
      ],
    });
    expect(bookings.reconcile(report([]), 11).ended).toMatchObject([{ bookingId: "a" }]);
    expect(bookings.size).toBe(0);
  });

  it("fills in a learned booking when the booking itself is heard", () => {
    const bookings = bookingsOf();
    bookings.reconcile(report(["a"]), 0);

    expect(bookings.book(entry("a"))).toBe("booked");
    expect(bookings.get(booking("a"))).toEqual(entry("a"));
    expect(bookings.dropFrontend(frontend("f1"), 1)).toEqual([entry("a")]);
  });
});

describe("what a report tells of a booking", () => {
  it("is where a learned one counts, and how much", () => {
    const bookings = bookingsOf();

    bookings.reconcile(
      { ...report([]), live: [live("a", { dpRank: 3, promptBlocks: 7, outputTokens: 2 })] },
      0,
    );

    expect(bookings.get(booking("a"))).toMatchObject({ dpRank: 3, blocks: 7 });
  });

  it("replaces what was learned before, once", () => {
    const bookings = bookingsOf();
    bookings.reconcile(report(["a"]), 0);
    const more = { ...report([]), live: [live("a", { dpRank: 1, promptBlocks: 5 })] };

    expect(bookings.reconcile(more, 1).learned).toMatchObject([{ bookingId: "a", dpRank: 1 }]);
    expect(bookings.reconcile(more, 2).learned).toEqual([]);
    expect(bookings.reconcile(report(["a"]), 3).learned).toEqual([]);
    expect(bookings.get(booking("a"))).toMatchObject({ dpRank: 1, blocks: 5, atMs: 1 });
  });

  it("does not move one that was heard, nor another worker's", () => {
    const other = entry("b", { workerId: worker("w2") });
    const bookings = bookingsOf(entry("a"), other);
    const says = { dpRank: 1, promptBlocks: 9 };

    const { learned } = bookings.reconcile(
      { ...report([]), live: [live("a", says), live("b", says)] },
      0,
    );

    expect(learned).toEqual([]);
    expect([bookings.get(booking("a")), bookings.get(booking("b"))]).toEqual([entry("a"), other]);
  });
});

describe("a stale booking", () => {
  it("is one of which nobody has spoken for the time set", () => {
    const bookings = createBookings({ limit: 10, graceMs: 0, staleMs: 100 });
    bookings.book(entry("a"));
    bookings.book(entry("b", { atMs: 1 }));

    expect(bookings.dropStale(99)).toEqual([]);
    expect(bookings.dropStale(100)).toEqual([entry("a")]);
    expect(bookings.size).toBe(1);
  });

  it("is never one that its worker names", () => {
    const bookings = createBookings({ limit: 10, graceMs: 0, staleMs: 100 });
    bookings.book(entry("a"));

    for (let nowMs = 50; nowMs <= 1_000; nowMs += 50) {
      bookings.reconcile(report(["a"]), nowMs);
      expect(bookings.dropStale(nowMs + 49)).toEqual([]);
    }

    expect(bookings.dropStale(1_100)).toEqual([entry("a")]);
  });

  it("is not one of which somebody has spoken since", () => {
    const bookings = createBookings({ limit: 10, graceMs: 0, staleMs: 100 });
    bookings.book(entry("a"));
    bookings.renew(booking("a"), 60);
    bookings.renew(booking("z"), 60);

    expect(bookings.dropStale(159)).toEqual([]);
    expect(bookings.dropStale(160)).toEqual([entry("a")]);
  });

  it("is not saved by another worker's word", () => {
    const bookings = createBookings({ limit: 10, graceMs: 0, staleMs: 100 });
    bookings.book(entry("a", { workerId: worker("w2") }));

    bookings.reconcile(report(["a"]), 90);

    expect(bookings.dropStale(100)).toHaveLength(1);
  });

  it("takes five minutes where nothing is said", () => {
    const bookings = bookingsOf(entry("a"));

    expect(bookings.dropStale(299_999)).toEqual([]);
    expect(bookings.dropStale(300_000)).toEqual([entry("a")]);
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

    expect(bookings.dropWorker(worker("w1"), 2)).toEqual([all[0], all[1], all[3]]);
    expect(bookings.size).toBe(1);
    expect(bookings.dropWorker(worker("w1"), 2)).toEqual([]);
  });

  it("takes those of a worker's earlier generations", () => {
    const bookings = bookingsOf(...all);

    expect(bookings.dropWorker(worker("w1"), 1)).toEqual([all[0], all[3]]);
    expect(bookings.get(booking("b"))).toEqual(all[1]);
  });

  it("takes all of a lost Frontend's, on every worker", () => {
    const bookings = bookingsOf(...all);

    expect(bookings.dropFrontend(frontend("f1"), 1)).toEqual([all[0], all[1], all[2]]);
    expect(bookings.size).toBe(1);
    expect(bookings.dropFrontend(frontend("f1"), 1)).toEqual([]);
  });

  it("leaves what a Frontend that came back has asked for since", () => {
    const old = entry("a");
    const young = entry("b", { frontendGeneration: 2 });
    const bookings = bookingsOf(old, young);

    expect(bookings.dropFrontend(frontend("f1"), 1)).toEqual([old]);
    expect(bookings.get(booking("b"))).toEqual(young);
  });
});
