import { describe, expect, it } from "vitest";
import { createActor, type SnapshotFrom } from "xstate";
import { getAdjacencyMap, getShortestPaths } from "xstate/graph";
import {
  type LifecycleEvent,
  type LifecycleState,
  lifecycleMachine,
  whyNotReady,
} from "../src/lifecycle-machine.ts";
import { VirtualClock } from "../src/virtual-clock.ts";
import { xstateClock } from "../src/xstate-clock.ts";

const events: LifecycleEvent[] = [
  { type: "actor.created" },
  { type: "bus.connected" },
  { type: "bus.lost" },
  { type: "actor.started" },
  { type: "view.synced" },
  { type: "view.unsynced", why: "waits" },
  { type: "drain.requested" },
  { type: "actor.drained" },
  { type: "stop.requested" },
  { type: "actor.failed", error: "broken" },
];
const states: readonly LifecycleState[] = [
  "starting",
  "connecting",
  "syncing",
  "ready",
  "degraded",
  "draining",
  "stopped",
];
/** The moves that architecture allows. */
const allowed: Readonly<Record<LifecycleState, readonly LifecycleState[]>> = {
  starting: ["connecting", "stopped"],
  connecting: ["syncing", "ready", "stopped"],
  syncing: ["ready", "degraded", "draining", "stopped"],
  ready: ["syncing", "degraded", "draining", "stopped"],
  degraded: ["syncing", "ready", "draining", "stopped"],
  draining: ["stopped"],
  stopped: [],
};
const input = { drainTimeoutMs: 1_000 };

type Snapshot = SnapshotFrom<typeof lifecycleMachine>;
interface Place {
  readonly state: Snapshot;
  readonly transitions: Readonly<Record<string, { state: Snapshot; event: LifecycleEvent }>>;
}

describe("lifecycleMachine", () => {
  const paths = getShortestPaths(lifecycleMachine, { events, input });
  const places: readonly Place[] = Object.values(
    getAdjacencyMap(lifecycleMachine, { events, input }),
  );

  it("reaches every state by some path, and repeats on every path", () => {
    expect(new Set(paths.map((path) => path.state.value))).toEqual(new Set(states));
    for (const path of paths) {
      const actor = createActor(lifecycleMachine, { input }).start();
      for (const { event } of path.steps) {
        if (events.includes(event)) actor.send(event);
      }
      expect(actor.getSnapshot().value).toBe(path.state.value);
    }
  });

  it("moves only as allowed, at every place it can be in, and makes every allowed move", () => {
    const made = new Set<string>();
    for (const { state, transitions } of places) {
      const from = state.value;
      for (const { state: next, event } of Object.values(transitions)) {
        const to = next.value;
        if (to === from) continue;
        expect(allowed[from], `${from} to ${to} on ${event.type}`).toContain(to);
        made.add(`${from} ${to}`);
      }
    }

    const all = states.flatMap((from) => allowed[from].map((to) => `${from} ${to}`));
    expect([...made].sort()).toEqual(all.sort());
  });

  it("is ready just when the bus is there, its start is done and its view is synced", () => {
    for (const { state } of places) {
      const { value, context } = state;
      const isServing = context.isStarted && context.isSynced;
      if (value === "ready" || value === "syncing") expect(isServing).toBe(value === "ready");
      expect(whyNotReady(value, context) === null).toBe(value === "ready");
    }
  });

  it("keeps what it learns while it waits for the bus", () => {
    const actor = createActor(lifecycleMachine, { input }).start();

    actor.send({ type: "actor.created" });
    actor.send({ type: "actor.started" });
    actor.send({ type: "bus.connected" });
    actor.send({ type: "view.synced" });
    expect(actor.getSnapshot().value).toBe("ready");
    actor.send({ type: "bus.lost" });
    actor.send({ type: "view.unsynced", why: "waits for the catalog" });
    actor.send({ type: "bus.connected" });

    const { value, context } = actor.getSnapshot();
    expect(value).toBe("syncing");
    expect(whyNotReady("syncing", context)).toBe("waits for the catalog");
  });

  it("ends a drain after its time", async () => {
    const clock = new VirtualClock();
    const actor = createActor(lifecycleMachine, { input, clock: xstateClock(clock) }).start();
    for (const type of ["actor.created", "bus.connected", "drain.requested"] as const) {
      actor.send({ type });
    }

    await clock.advanceBy(999);
    expect(actor.getSnapshot().value).toBe("draining");
    await clock.advanceBy(1);

    expect(actor.getSnapshot().value).toBe("stopped");
    expect(clock.pendingTimers).toBe(0);
  });

  it("keeps the failure that ended it", () => {
    const actor = createActor(lifecycleMachine, { input }).start();

    actor.send({ type: "actor.failed", error: "broken" });

    const { value, context } = actor.getSnapshot();
    expect([value, context.failure, whyNotReady("stopped", context)]).toEqual([
      "stopped",
      "broken",
      "failed",
    ]);
  });
});
