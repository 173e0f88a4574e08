import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventHeap } from "../src/event-heap.ts";

describe("EventHeap", () => {
  it("gives back the earliest, then the first of equals, whatever is pushed between", () => {
    const step = fc.oneof(fc.nat({ max: 20 }), fc.constant("pop" as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new EventHeap<{ atMs: number; sequence: number }>();
        let model: { atMs: number; sequence: number }[] = [];
        for (const [sequence, one] of steps.entries()) {
          if (one === "pop") {
            expect(heap.peek()).toEqual(model[0]);
            expect(heap.pop()).toEqual(model.shift());
          } else {
            heap.push({ atMs: one, sequence });
            model = [...model, { atMs: one, sequence }].sort(
              (a, b) => a.atMs - b.atMs || a.sequence - b.sequence,
            );
          }
          expect(heap.size).toBe(model.length);
        }
      }),
    );
  });
});
