import { expect, it } from "vitest";
import { LoadSlots } from "../../src/core/load-slots.ts";
import { worker } from "../support.ts";

const w1 = worker("w1");

it("gives each rank of each generation a slot of its own, and the same again", () => {
  const slots = new LoadSlots();
  const ranks: [number, number][] = [
    [1, 0],
    [1, 1],
    [2, 0],
    [1, 0],
  ];
  const given = ranks.map(([generation, dpRank]) => slots.book(w1, generation, dpRank));

  expect(new Set(given).size).toBe(3);
  expect(given[3]).toBe(given[0]);
  expect(slots.size).toBe(3);
  expect(slots.get(w1, 1)).toMatchObject({ generation: 1, requests: 3 });
  expect(slots.get(worker("w2"), 1)).toBeUndefined();
});

it("keeps the slots of a worker that is listed, booked or not", () => {
  const slots = new LoadSlots();
  const row = slots.list(w1, 1);
  const slot = slots.slotOf(row, 0);
  slots.book(w1, 1, 0);

  expect(slots.release(w1, 1)).toEqual([]);
  expect(slots.unlist(w1, 1)).toEqual([slot]);
  expect(slots.size).toBe(0);
});

it("keeps the slots of a worker that is gone until its bookings are", () => {
  const slots = new LoadSlots();
  slots.list(w1, 1);
  const slot = slots.book(w1, 1, 0);
  slots.book(w1, 1, 0);

  expect([slots.unlist(w1, 1), slots.release(w1, 1), slots.release(w1, 1)]).toEqual([
    [],
    [],
    [slot],
  ]);
  expect(slots.release(w1, 1)).toEqual([]);
  expect(slots.get(w1, 1)).toBeUndefined();
});

it("leaves another generation's slots alone", () => {
  const slots = new LoadSlots();
  const old = slots.book(w1, 1, 0);
  const young = slots.book(w1, 2, 0);

  expect(slots.release(w1, 1)).toEqual([old]);
  expect(slots.get(w1, 2)?.slots.get(0)).toBe(young);
});

it("gives a closed slot out again only when nothing is left under it", () => {
  const slots = new LoadSlots();
  const first = slots.book(w1, 1, 0);
  slots.release(w1, 1);
  const second = slots.book(w1, 2, 0);
  slots.recycle(first);

  expect(second).not.toBe(first);
  expect(slots.book(worker("w2"), 1, 0)).toBe(first);
});
