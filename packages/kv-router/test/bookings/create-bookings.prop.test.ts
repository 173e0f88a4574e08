import type { BookingId } from "@baton/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createBookings } from "../../src/bookings/create-bookings.ts";
import type { BookingEntry } from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

const limit = 8;
const graceMs = 5;
const staleMs = 12;
const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const workers = ["w1", "w2"];
const frontends = ["f1", "f2"];

const name = fc.constantFrom(...names).map(booking);
const workerName = fc.constantFrom(...workers).map(worker);
const frontendName = fc.constantFrom(...frontends).map(frontend);
const generation = fc.integer({ min: 1, max: 3 });
const dpRank = fc.integer({ min: 0, max: 1 });

const unknownOr = (max: number) => fc.option(fc.integer({ min: 0, max }), { nil: null });
const liveBooking = (bookingId: BookingId) =>
  fc.record({
    bookingId: fc.constant(bookingId),
    dpRank: unknownOr(1),
    promptBlocks: unknownOr(3),
    prefillTokens: unknownOr(3),
    outputTokens: unknownOr(3),
  });

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("book" as const),
        entry: fc.record({
          bookingId: name,
          frontendId: frontendName,
          frontendGeneration: generation,
          workerId: workerName,
          generation,
          dpRank,
          blocks: fc.integer({ min: 0, max: 9 }),
          promptTokens: fc.integer({ min: 0, max: 99 }),
        }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("release" as const), bookingId: name }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("reconcile" as const),
        workerId: workerName,
        generation,
        dpRank,
        live: fc.subarray(names.map(booking)).chain((ids) => fc.tuple(...ids.map(liveBooking))),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("drop-worker" as const),
        workerId: workerName,
        generation,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("drop-frontend" as const),
        frontendId: frontendName,
        generation,
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("drop-stale" as const) }) },
  ),
  { maxLength: 50 },
);

type Step = ReturnType<typeof steps.generate>["value"][number];
/** Each booking, with when it was last spoken of. */
type Model = Map<BookingId, BookingEntry & { spokenMs: number }>;

it("holds what a plain map would hold, and ends what it would end", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const bookings = createBookings({ limit, graceMs, staleMs });
      const model: Model = new Map();
      taken.forEach((step, nowMs) => {
        const ended = applyToModel(model, step, nowMs);
        expect(sorted(applyToTable(bookings, step, nowMs))).toEqual(sorted(ended));
        expectEqual(bookings, model);
      });
    }),
    { numRuns: 500 },
  );
});

function applyToTable(
  bookings: ReturnType<typeof createBookings>,
  step: Step,
  nowMs: number,
): readonly BookingEntry[] {
  switch (step.do) {
    case "book":
      bookings.book({ ...step.entry, atMs: nowMs });
      return [];
    case "release": {
      const released = bookings.release(step.bookingId);
      return released === undefined ? [] : [released];
    }
    case "reconcile":
      return bookings.reconcile(step, nowMs).ended;
    case "drop-worker":
      return bookings.dropWorker(step.workerId, step.generation);
    case "drop-frontend":
      return bookings.dropFrontend(step.frontendId, step.generation);
    case "drop-stale":
      return bookings.dropStale(nowMs);
  }
}

/** Returns what ends. */
function applyToModel(model: Model, step: Step, nowMs: number): readonly BookingEntry[] {
  switch (step.do) {
    case "book": {
      const known = model.get(step.entry.bookingId);
      const isRoom = known === undefined ? model.size < limit : known.frontendId === null;
      if (isRoom) model.set(step.entry.bookingId, { ...step.entry, atMs: nowMs, spokenMs: nowMs });
      return [];
    }
    case "release":
      return remove(model, (entry) => entry.bookingId === step.bookingId);
    case "reconcile":
      return reconcileModel(model, step, nowMs);
    case "drop-worker":
      return remove(
        model,
        (entry) => entry.workerId === step.workerId && entry.generation <= step.generation,
      );
    case "drop-frontend":
      return remove(
        model,
        (entry) =>
          entry.frontendId === step.frontendId && entry.frontendGeneration <= step.generation,
      );
    case "drop-stale":
      return remove(model, (entry) => nowMs - entry.spokenMs >= staleMs);
  }
}

function reconcileModel(
  model: Model,
  step: Extract<Step, { do: "reconcile" }>,
  nowMs: number,
): readonly BookingEntry[] {
  const own = [...model.values()].filter((entry) => entry.workerId === step.workerId);
  if (own.some((entry) => entry.generation > step.generation)) return [];
  const ended = remove(
    model,
    (entry) =>
      own.includes(entry) &&
      (entry.generation < step.generation ||
        (!step.live.some(({ bookingId }) => bookingId === entry.bookingId) &&
          (entry.frontendId === null || nowMs - entry.atMs >= graceMs))),
  );
  for (const { bookingId, dpRank: rank, promptBlocks } of step.live) {
    const known = model.get(bookingId);
    if (known === undefined && model.size >= limit) continue;
    if (known !== undefined && known.workerId !== step.workerId) continue;
    if (known !== undefined) known.spokenMs = nowMs;
    const learned = {
      bookingId,
      frontendId: null,
      frontendGeneration: 0,
      workerId: step.workerId,
      generation: step.generation,
      dpRank: rank ?? known?.dpRank ?? step.dpRank,
      blocks: promptBlocks ?? known?.blocks ?? 0,
      promptTokens: 0,
      atMs: nowMs,
      spokenMs: nowMs,
    };
    const isSame = learned.dpRank === known?.dpRank && learned.blocks === known.blocks;
    if (known === undefined || (known.frontendId === null && !isSame))
      model.set(bookingId, learned);
  }
  return ended;
}

function remove(
  model: Model,
  isGone: (entry: BookingEntry & { spokenMs: number }) => boolean,
): readonly BookingEntry[] {
  const gone = [...model.values()].filter(isGone);
  for (const entry of gone) model.delete(entry.bookingId);
  return gone.map(entryOf);
}

function entryOf({ spokenMs: _, ...entry }: BookingEntry & { spokenMs: number }): BookingEntry {
  return entry;
}

function expectEqual(bookings: ReturnType<typeof createBookings>, model: Model): void {
  expect(bookings.size).toBe(model.size);
  for (const bookingId of names.map(booking)) {
    const known = model.get(bookingId);
    expect(bookings.get(bookingId)).toEqual(known && entryOf(known));
  }
}

function sorted(entries: readonly BookingEntry[]): readonly BookingEntry[] {
  return entries.toSorted((left, right) => (left.bookingId < right.bookingId ? -1 : 1));
}
