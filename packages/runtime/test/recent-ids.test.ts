import { requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { RecentIds } from "../src/recent-ids.ts";

const id = (n: number) => requestId(`r${n}`);

describe("RecentIds", () => {
  it("remembers an id for its time and not longer", () => {
    const recent = new RecentIds({ limit: 10, keepMs: 100 });

    recent.add(id(1), 1_000);

    expect([recent.has(id(1), 1_099), recent.has(id(1), 1_100)]).toEqual([true, false]);
    expect(recent.has(id(2), 1_000)).toBe(false);
  });

  it("remembers anew what is added again", () => {
    const recent = new RecentIds({ limit: 2, keepMs: 100 });
    recent.add(id(1), 0);
    recent.add(id(2), 10);

    recent.add(id(1), 50);
    recent.add(id(3), 60);

    expect([recent.has(id(1), 140), recent.has(id(2), 61), recent.has(id(3), 61)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("lets go of the oldest when there are too many", () => {
    const recent = new RecentIds({ limit: 2, keepMs: 100 });

    for (const n of [1, 2, 3]) recent.add(id(n), n);

    expect([1, 2, 3].filter((n) => recent.has(id(n), 3))).toEqual([2, 3]);
    expect(recent.size).toBe(2);
  });

  it("lets go of what is over with each one added, and when it is told to", () => {
    const recent = new RecentIds({ limit: 10, keepMs: 100 });
    for (const [n, addedAtMs] of [0, 0, 60, 110].entries()) recent.add(id(n), addedAtMs);
    expect(recent.size).toBe(2);

    recent.forgetOld(160);
    expect(recent.size).toBe(1);
    recent.forgetOld(210);
    expect(recent.size).toBe(0);
  });
});
