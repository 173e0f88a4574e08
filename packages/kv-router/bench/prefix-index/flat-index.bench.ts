import { bench, describe } from "vitest";
import { createFlatIndex, createOverlaps, createRadixTree } from "../../src/index.ts";
import { apply, makePrompts, serve } from "../../test/prefix-index/trace-traffic.ts";

// Percentiles, memory and jobs, on a trace: measure.ts beside this file.

let state = 1;
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const prompts = makePrompts(3_000, random);
const overlaps = createOverlaps();

for (const workers of [16, 128]) {
  describe(`3,000 prompts on ${workers} workers, in blocks of 64 tokens`, () => {
    const steps = serve(prompts, { workers, capacity: 4_096, parts: 8 });

    for (const [name, create] of [
      ["flat", createFlatIndex],
      ["tree", createRadixTree],
    ] as const) {
      bench(`${name}: finds and changes`, () => {
        const index = create();
        for (const step of steps) {
          if (step.kind === "find") index.find(step.hashes, overlaps);
          else apply(index, step);
        }
      });
    }
  });
}
