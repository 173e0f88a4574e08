import { describe, expect, it } from "vitest";
import { FeedWorld } from "./support/feed-world.ts";

const schedules = 10_000;
const steps = 40;

describe("the feed from workers to a router's index", () => {
  it(`makes the index what the workers hold, whatever is lost, repeated, late or restarted, ${schedules} times`, async () => {
    for (let seed = 1; seed <= schedules; seed++) {
      const world = new FeedWorld(seed);
      for (let step = 0; step < steps; step++) await world.step();
      await world.heal();

      const { held, known } = world.compare();
      if (known.join() !== held.join() || world.faults.length > 0) {
        expect({ seed, known, faults: world.faults }).toEqual({ seed, known: held, faults: [] });
      }
      world.table.clear();
    }
  }, 120_000);
});
