import { ServingError } from "@baton/protocol";
import { VirtualClock, xstateClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { type WorkerEvent, workerMachine } from "../src/machine.ts";

const error = new ServingError("engine_lost");
const events: readonly WorkerEvent[] = [
  { type: "engine.lost", error },
  { type: "engine.restored" },
  { type: "registration.accepted" },
  { type: "registration.refused", why: "because" },
  { type: "registration.outlived", generation: 7 },
  { type: "registration.failed" },
  { type: "registration.outdated" },
  { type: "drain.requested" },
];
const input = { spread: 1 };

/** Every state that can be reached with events and delays, with the way to it. Failures are counted no further than 2. */
const paths = getShortestPaths(workerMachine, {
  input,
  events: () => [
    ...events,
    ...(["retry", "refusedRetry", "renewal"] as const).flatMap((delay) =>
      ["registering.waiting", "serving.waiting", "serving.outdated", "refused.resting"].map(
        (state) => ({ type: `xstate.after.${delay}.worker.${state}` }) as unknown as WorkerEvent,
      ),
    ),
  ],
  serializeState: (snapshot) => JSON.stringify(snapshot.value),
});

describe("workerMachine", () => {
  it("can be in these states and no other", () => {
    const reached = new Set(paths.map((path) => JSON.stringify(path.state.value)));

    expect([...reached].sort()).toEqual(
      [
        '{"registering":"asking"}',
        '{"registering":"waiting"}',
        '{"serving":"listed"}',
        '{"serving":"outdated"}',
        '{"serving":"asking"}',
        '{"serving":"waiting"}',
        '{"refused":"resting"}',
        '{"refused":"asking"}',
        '"engineLost"',
        '"leaving"',
      ].sort(),
    );
  });

  it("leaves from every state when a drain is requested, for good", () => {
    for (const path of paths) {
      const actor = createActor(workerMachine, { input, snapshot: path.state }).start();
      actor.send({ type: "drain.requested" });
      for (const event of events) actor.send(event);

      expect(actor.getSnapshot().value).toBe("leaving");
      actor.stop();
    }
  });

  it("serves after no path without an acceptance since the engine was last lost", () => {
    for (const path of paths.filter(({ state }) => state.matches("serving"))) {
      const types = path.steps.map((step) => step.event.type as string);
      const lastAccepted = types.lastIndexOf("registration.accepted");

      expect(lastAccepted).toBeGreaterThan(types.lastIndexOf("engine.lost"));
    }
  });

  it("asks for the engine's loss in every state but while it is lost", () => {
    for (const path of paths) {
      let losses = 0;
      const machine = workerMachine.provide({
        actions: {
          loseEngine: () => {
            losses++;
          },
        },
      });
      const actor = createActor(machine, { input, snapshot: path.state }).start();
      actor.send({ type: "engine.lost", error });

      expect(losses).toBe(path.state.value === "engineLost" ? 0 : 1);
      actor.stop();
    }
  });

  it("asks again with growing waits, up to five seconds", async () => {
    const clock = new VirtualClock();
    const asked: number[] = [];
    const actor = createActor(
      workerMachine.provide({ actions: { ask: () => void asked.push(clock.nowMs()) } }),
      { input, clock: xstateClock(clock) },
    ).start();
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      const failedAtMs = clock.nowMs();
      actor.send({ type: "registration.failed" });
      await clock.runUntilTrue(() => asked.length === i + 2);
      waits.push(clock.nowMs() - failedAtMs);
    }

    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    actor.stop();
  });
});
