import { requestId } from "@baton/protocol";
import { expect, it } from "vitest";
import { RecentIds } from "../src/recent-ids.ts";

const [a, b, c] = ["a", "b", "c"].map(requestId) as [never, never, never];

it("remembers an id for its time and not longer", () => {
  const recent = new RecentIds({ limit: 10, keepMs: 100 });

  recent.add(a, 1_000);

  expect([recent.has(a, 1_099), recent.has(a, 1_100), recent.has(b, 1_000)]).toEqual([
    true,
    false,
    false,
  ]);
});

it("remembers anew what is added again", () => {
  const recent = new RecentIds({ limit: 2, keepMs: 100 });
  recent.add(a, 0);
  recent.add(b, 10);

  recent.add(a, 50);
  recent.add(c, 60);

  expect([recent.has(a, 140), recent.has(b, 61), recent.has(c, 61)]).toEqual([true, false, true]);
});

it("holds no more than its limit, and nothing that is too old", () => {
  const recent = new RecentIds({ limit: 2, keepMs: 100 });
  for (const [index, id] of [a, b, c].entries()) recent.add(id, index * 60);
  expect(recent.size).toBe(2);

  recent.forgetOld(170);
  expect(recent.size).toBe(1);
  recent.forgetOld(220);
  expect(recent.size).toBe(0);
});
