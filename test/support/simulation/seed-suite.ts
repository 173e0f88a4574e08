import { describe, expect, it } from "vitest";
import { repeatCommand } from "./describe-plan.ts";
import { runSeed } from "./run-seed.ts";

const seedsPerTest = 25;
const timeoutMs = 120_000;

/** Registers the tests that run these seeds. A broken one is shown with the command that repeats it. */
export function seedSuite(from: number, count: number): void {
  describe(`clusters in trouble, seeds ${from} to ${from + count - 1}`, () => {
    for (let first = from; first < from + count; first += seedsPerTest) {
      const last = Math.min(first + seedsPerTest, from + count) - 1;
      it(`keep their promises (${first} to ${last})`, { timeout: timeoutMs }, async () => {
        const broken: string[] = [];
        let completed = 0;
        for (let seed = first; seed <= last; seed++) {
          const { stats, violations } = await runSeed(seed);
          completed += stats.completed;
          if (violations.length > 0) broken.push(repeatCommand(seed), ...violations);
        }

        expect(broken).toEqual([]);
        expect(completed).toBeGreaterThan(seedsPerTest);
      });
    }
  });
}
