import fc from "fast-check";
import { expect, it } from "vitest";
import { CountTable } from "../../src/prefix-index/count-table.ts";

const small = fc.nat({ max: 20 });
const changes = fc.array(fc.tuple(small, small, fc.integer({ min: -3, max: 3 })), {
  maxLength: 400,
});

it("counts as a map does, whatever comes and goes", () => {
  fc.assert(
    fc.property(changes, (steps) => {
      const table = new CountTable();
      const model = new Map<string, number>();
      for (const [first, second, wanted] of steps) {
        const key = `${first} ${second}`;
        const before = model.get(key) ?? 0;
        const change = Math.max(wanted, -before);
        model.set(key, before + change);
        expect(table.add(first, second, change)).toBe(before + change);
      }
      for (let first = 0; first <= 20; first += 1) {
        for (let second = 0; second <= 20; second += 1) {
          expect(table.get(first, second)).toBe(model.get(`${first} ${second}`) ?? 0);
        }
      }
      expect(table.size).toBe([...model.values()].filter((count) => count > 0).length);
    }),
  );
});

it("holds many counts and lets all go", () => {
  const table = new CountTable();
  for (let at = 1; at <= 20_000; at += 1) table.add(at, at % 7, at);
  for (let at = 1; at <= 20_000; at += 1) {
    if (table.get(at, at % 7) !== at) expect(table.get(at, at % 7)).toBe(at);
  }
  for (let at = 1; at <= 20_000; at += 1) table.add(at, at % 7, -at);

  expect(table.size).toBe(0);
  expect(table.bytes).toBeGreaterThan(20_000 * 12);
});

it("refuses to count below nothing", () => {
  const table = new CountTable();
  table.add(1, 1, 2);

  expect(() => table.add(1, 1, -3)).toThrow(RangeError);
  expect(table.get(1, 1)).toBe(2);
});
