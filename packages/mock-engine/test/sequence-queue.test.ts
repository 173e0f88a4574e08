import fc from "fast-check";
import { expect, it } from "vitest";
import { SequenceQueue } from "../src/sequence-queue.ts";

it("behaves as an array does", () => {
  const operation = fc.constantFrom("push", "push", "pushFront", "shift", "shift", "remove");
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300 }), (operations) => {
      const queue = new SequenceQueue<number>();
      const model: number[] = [];
      operations.forEach((name, i) => {
        if (name === "push") {
          queue.push(i);
          model.push(i);
        } else if (name === "pushFront") {
          queue.pushFront(i);
          model.unshift(i);
        } else if (name === "shift") {
          expect(queue.shift()).toBe(model.shift());
        } else {
          const victim = model[Math.floor(model.length / 2)] ?? -1;
          expect(queue.remove(victim)).toBe(model.includes(victim));
          if (victim >= 0) model.splice(model.indexOf(victim), 1);
        }
        expect([queue.size, queue.peek()]).toEqual([model.length, model[0]]);
      });
    }),
  );
});

it("does not find what has been shifted out", () => {
  const queue = new SequenceQueue<string>();
  queue.push("a");
  queue.push("b");
  queue.shift();

  expect(queue.remove("a")).toBe(false);
  expect(queue.size).toBe(1);
});
