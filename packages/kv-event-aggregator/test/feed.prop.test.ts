import { describe, expect, it } from "vitest";
import { FeedWorld } from "./support/feed-world.ts";

const schedules = 10_000;
const perTest = 2_500;
const steps = 30;

async function runSeed(seed: number): Promise<void> {
  const world = new FeedWorld(seed);
  for (let step = 0; step < steps; step++) await world.step();
  await world.heal();

  const { held, known } = world.compare();
  if (known.join() !== held.join() || world.faults.length > 0) {
    expect({ seed, known, faults: world.faults }).toEqual({ seed, known: held, faults: [] });
  }
  world.table.clear();
}

describe("the feed from workers to a router's index, whatever is lost, repeated, late or restarted", () => {
  const firsts = Array.from({ length: schedules / perTest }, (_, at) => at * perTest + 1);

  it.each(firsts)(
    "makes the index what the workers hold, for 2,500 seeds from %i",
    async (first) => {
      for (let seed = first; seed < first + perTest; seed++) await runSeed(seed);
      expect.assertions(0);
    },
    180_000,
  );
});
