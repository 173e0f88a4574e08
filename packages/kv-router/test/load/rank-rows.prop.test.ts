import fc from "fast-check";
import { expect, it } from "vitest";
import { RankRows } from "../../src/load/rank-rows.ts";

const rank = fc.integer({ min: 0, max: 200 });
const ranks = fc.uniqueArray(rank, { maxLength: 40 });

function rowOf(rows: RankRows, members: readonly number[]): number {
  const row = rows.open();
  for (const member of members) rows.add(row, member);
  return row;
}

it("writes for the ranks of a row that are not in the other, whatever was in the rows before", () => {
  fc.assert(
    fc.property(ranks, ranks, ranks, rank, (old, members, others, except) => {
      const rows = new RankRows();
      rows.close(rowOf(rows, old));
      const row = rowOf(rows, members);
      const other = rowOf(rows, others);
      const write = (against: number | null, without: number) => {
        const target = new Uint32Array(201);
        rows.write(row, against, without, target, 9);
        return [...target.keys()].filter((index) => target[index] === 9);
      };
      const sorted = members.toSorted((left, right) => left - right);

      expect(write(null, -1)).toEqual(sorted);
      expect(write(null, except)).toEqual(sorted.filter((one) => one !== except));
      expect(write(other, -1)).toEqual(sorted.filter((one) => !others.includes(one)));
      if (sorted[0] !== undefined) expect(rows.first(row)).toBe(sorted[0]);
    }),
  );
});

it("forgets ranks that are deleted", () => {
  const rows = new RankRows();
  const row = rowOf(rows, [3, 64, 65]);
  rows.delete(row, 3);
  rows.delete(row, 64);

  expect(rows.first(row)).toBe(65);
});

it("counts the rows in use", () => {
  const rows = new RankRows();
  const row = rows.open();
  rows.open();
  expect(rows.size).toBe(2);

  rows.close(row);

  expect(rows.size).toBe(1);
  expect(rows.open()).toBe(row);
});
