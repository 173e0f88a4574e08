import { ManualClock, xstateClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { type RecoveryEvent, recoveryMachine } from "../../src/source/machine.ts";

const attempts = 3;
const options = { attempts, firstBackoffMs: 200, maxBackoffMs: 300 };
const types = [
  "gap.found",
  "position.wanted",
  "answer.taken",
  "ask.failed",
  "bus.restored",
  "source.held",
  "source.resumed",
  "source.closed",
] as const;
const events: RecoveryEvent[] = types.map((type) => ({ type }));
const idle = { ask: () => undefined, giveUp: () => undefined };

function started() {
  const clock = new ManualClock();
  const calls = { asks: 0, givenUp: 0 };
  const actions = {
    ask: () => {
      calls.asks += 1;
    },
    giveUp: () => {
      calls.givenUp += 1;
    },
  };
  const actor = createActor(recoveryMachine, {
    clock: xstateClock(clock),
    input: { ...options, actions },
  });
  actor.start();
  return { actor, clock, calls };
}

const paths = getShortestPaths(recoveryMachine, {
  input: { ...options, actions: idle },
  events,
  serializeState: (state) => `${JSON.stringify(state.value)} ${state.context.failures}`,
});

describe("recoveryMachine", () => {
  it("reaches every state", () => {
    const reached = new Set(paths.map(({ state }) => state.value));

    expect([...reached].sort()).toEqual(["asking", "closed", "following", "held", "waiting"]);
  });

  it("asks once each time it comes to asking, and gives up once each time its last ask fails", () => {
    for (const path of paths) {
      const { actor, calls } = started();
      let asks = 0;
      let givenUp = 0;
      let before: unknown = actor.getSnapshot().value;
      for (const { event } of path.steps) {
        // The first step only starts the machine, and a wait ends by the clock.
        if (!types.includes(event.type as (typeof types)[number])) continue;
        actor.send(event);
        const { value } = actor.getSnapshot();
        if (value !== before && value === "asking") asks += 1;
        const isGivenUp =
          before === "asking" && event.type === "ask.failed" && value === "following";
        if (isGivenUp) givenUp += 1;
        before = value;
        expect(calls).toEqual({ asks, givenUp });
      }
    }
    expect(paths.length).toBeGreaterThan(6);
  });

  it("can be closed from everywhere, and then nothing moves it", async () => {
    for (const path of paths) {
      const { actor, clock, calls } = started();
      for (const { event } of path.steps) {
        if (types.includes(event.type as (typeof types)[number])) actor.send(event);
      }
      if (actor.getSnapshot().status === "active") actor.send({ type: "source.closed" });
      const asks = calls.asks;

      await clock.advanceBy(60_000);

      expect(actor.getSnapshot()).toMatchObject({ value: "closed", status: "done" });
      expect(calls.asks).toBe(asks);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it("waits twice as long after each failed ask, up to the limit, and gives up after the last", async () => {
    const { actor, clock, calls } = started();
    actor.send({ type: "gap.found" });
    actor.send({ type: "ask.failed" });

    await clock.advanceBy(199);
    expect(calls.asks).toBe(1);
    await clock.advanceBy(1);
    expect(calls.asks).toBe(2);
    actor.send({ type: "ask.failed" });
    await clock.advanceBy(299);
    expect(calls.asks).toBe(2);
    await clock.advanceBy(1);
    expect(calls.asks).toBe(3);
    actor.send({ type: "ask.failed" });

    expect(actor.getSnapshot()).toMatchObject({ value: "following", context: { failures: 0 } });
    expect(calls).toEqual({ asks: 3, givenUp: 1 });
  });

  it("has all its attempts again after an answer", () => {
    const { actor } = started();
    actor.send({ type: "gap.found" });
    actor.send({ type: "ask.failed" });
    actor.send({ type: "bus.restored" });
    actor.send({ type: "answer.taken" });

    expect(actor.getSnapshot()).toMatchObject({ value: "following", context: { failures: 0 } });
  });
});
