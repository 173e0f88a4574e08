import { describe, expect, it } from "vitest";
import { RankSlots } from "../../src/prefix-index/rank-slots.ts";
import { worker } from "../support.ts";

const rank = (name: string, generation = 1, dpRank = 0) => ({
  workerId: worker(name),
  generation,
  dpRank,
});

describe("RankSlots", () => {
  it("gives each rank of each generation a slot of its own, the same each time", () => {
    const slots = new RankSlots();

    const given = [rank("a"), rank("b"), rank("a", 2), rank("a", 1, 1), rank("a")].map((key) =>
      slots.open(key),
    );

    expect(given).toEqual([0, 1, 2, 3, 0]);
    expect(slots.size).toBe(4);
    expect(slots.slotOf(rank("a", 2))).toBe(2);
    expect(slots.slotOf(rank("c"))).toBeUndefined();
  });

  it("gives a closed slot to nobody before it is recycled", () => {
    const slots = new RankSlots();
    slots.open(rank("a"));

    const closed = slots.close(rank("a"));

    expect(closed).toBe(0);
    expect(slots.slotOf(rank("a"))).toBeUndefined();
    expect(slots.open(rank("b"))).toBe(1);
    slots.recycle(0);
    expect(slots.open(rank("c"))).toBe(0);
  });

  it("closes what it does not know without a word", () => {
    expect(new RankSlots().close(rank("a"))).toBeUndefined();
  });
});
