import { expect, it } from "vitest";
import { WorkerBookings } from "../../src/bookings/booked-load.ts";
import type { BookingEntry } from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

const entry = (name: string, dpRank: number, blocks: number): BookingEntry => ({
  bookingId: booking(name),
  frontendId: frontend("f"),
  frontendGeneration: 1,
  workerId: worker("w"),
  generation: 1,
  dpRank,
  blocks,
  promptTokens: blocks * 10,
  atMs: 0,
});

it("keeps sums for the worker and each rank as bookings come and go", () => {
  const bookings = new WorkerBookings();
  const [first, second] = [entry("a", 0, 3), entry("b", 1, 5)];
  bookings.add(first);
  bookings.add(second);
  expect(bookings.load).toMatchObject({ requests: 2, blocks: 8, promptTokens: 80 });

  bookings.remove(first);

  expect(bookings.load).toMatchObject({ requests: 1, blocks: 5, promptTokens: 50 });
  expect(bookings.loadOfRank(0)).toMatchObject({ requests: 0, blocks: 0, promptTokens: 0 });
  expect(bookings.loadOfRank(1)).toMatchObject({ requests: 1, blocks: 5, promptTokens: 50 });
  expect([...bookings.entries]).toEqual([second]);
});
