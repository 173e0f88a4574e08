import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RankHeap } from "../../src/bpe/rank-heap.ts";

describe("RankHeap", () => {
  it("gives the lowest rank first, of equal ones the leftmost, however entries came in", () => {
    const entries = fc.array(fc.tuple(fc.nat(4_000_000), fc.nat(1_000_000)), { maxLength: 60 });
    fc.assert(
      fc.property(entries, entries, (first, later) => {
        const heap = new RankHeap(1);
        for (const [rank, position] of first) {
          heap.append(rank, position);
        }
        while (!heap.build(3)) {
          // In steps.
        }
        for (const [rank, position] of later) {
          heap.push(rank, position);
        }
        const popped: [number, number][] = [];
        while (heap.pop()) {
          popped.push([heap.poppedRank, heap.poppedPosition]);
        }
        const sorted = [...first, ...later].toSorted(
          (left, right) => left[0] - right[0] || left[1] - right[1],
        );
        expect(popped).toEqual(sorted);
      }),
    );
  });
});
