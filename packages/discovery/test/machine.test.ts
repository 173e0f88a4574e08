import { ManualClock, xstateClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { type RebuildEvent, rebuildMachine } from "../src/machine.ts";

const leaseMs = 1_000;
const patienceMs = 2_000;

function started(isBack = true) {
  const clock = new ManualClock();
  const world = { isBack };
  const actor = createActor(rebuildMachine, {
    clock: xstateClock(clock),
    input: { leaseMs, patienceMs, isEverybodyBack: () => world.isBack },
  });
  actor.start();
  return { actor, clock, world, value: () => actor.getSnapshot().value };
}

describe("rebuildMachine", () => {
  it("is complete after a lease when everybody is back", async () => {
    const { clock, value } = started();

    await clock.advanceBy(leaseMs - 1);
    expect(value()).toBe("rebuilding");
    await clock.advanceBy(1);
    expect(value()).toBe("complete");
  });

  it("waits longer for those that are heard but not listed, with an end", async () => {
    const early = started(false);
    await early.clock.advanceBy(leaseMs);
    early.actor.send({ type: "workers.changed" });
    expect(early.value()).toBe("settling");
    early.world.isBack = true;
    early.actor.send({ type: "workers.changed" });
    expect(early.value()).toBe("complete");

    const never = started(false);
    await never.clock.advanceBy(leaseMs + patienceMs - 1);
    expect(never.value()).toBe("settling");
    await never.clock.advanceBy(1);
    expect(never.value()).toBe("complete");
  });

  it("begins its lease again when the bus was away", async () => {
    const { actor, clock, value } = started();
    await clock.advanceBy(leaseMs - 1);
    actor.send({ type: "bus.lost" });
    await clock.advanceBy(10 * leaseMs);
    expect(value()).toBe("paused");

    actor.send({ type: "bus.restored" });
    await clock.advanceBy(leaseMs - 1);
    expect(value()).toBe("rebuilding");
    await clock.advanceBy(1);
    expect(value()).toBe("complete");
  });

  it("stays complete on every path on from there", async () => {
    const events: RebuildEvent[] = [
      { type: "workers.changed" },
      { type: "bus.lost" },
      { type: "bus.restored" },
    ];
    const paths = getShortestPaths(rebuildMachine, {
      input: { leaseMs, patienceMs, isEverybodyBack: () => true },
      events: [...events, { type: "xstate.after.lease.catalog.rebuilding" } as never],
    });
    expect(paths.map(({ state }) => state.value).sort()).toEqual([
      "complete",
      "paused",
      "rebuilding",
    ]);

    const { actor, clock, value } = started();
    await clock.advanceBy(leaseMs);
    for (const event of events) actor.send(event);
    expect(value()).toBe("complete");
  });
});
