import { VirtualClock, xstateClock } from "@baton/runtime";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import {
  type ActivationActions,
  type ActivationEvent,
  activationMachine,
  reportedActivation,
} from "../src/activation.ts";

/** The route as a table says it should be, without a machine: what is wanted, and what stands. */
interface Route {
  readonly target: string | null;
  readonly bound: string | null;
  readonly hadTarget: boolean;
}

const fresh: Route = { target: null, bound: null, hadTarget: false };

function next(route: Route, event: ActivationEvent): Route {
  switch (event.type) {
    case "target.gone":
      return { ...route, target: null };
    case "target.found":
      return {
        target: event.target,
        bound: event.target === route.bound ? route.bound : null,
        hadTarget: true,
      };
    case "binding.ready":
      return event.target === route.target ? { ...route, bound: event.target } : route;
    case "binding.failed":
      return route;
  }
}

function reported({ target, bound, hadTarget }: Route): string {
  if (target === null) return hadTarget ? "unavailable" : "none";
  return target === bound ? "active" : "pending";
}

/** Whether requests may come in: opened more often than shut. */
function doorOf() {
  const door = { isOpen: false, bound: [] as string[], shutFor: [] as (string | null)[] };
  const actions: ActivationActions = {
    bind: (target) => void door.bound.push(target),
    open: () => {
      door.isOpen = true;
    },
    shut: (target) => {
      door.isOpen = false;
      door.shutFor.push(target);
    },
  };
  return { door, actions };
}

function startedMachine() {
  const clock = new VirtualClock();
  const { door, actions } = doorOf();
  const actor = createActor(activationMachine, { input: actions, clock: xstateClock(clock) });
  actor.start();
  return { clock, door, actor, state: () => reportedActivation(actor.getSnapshot().value) };
}

const found = (target: string): ActivationEvent => ({ type: "target.found", target });
const gone: ActivationEvent = { type: "target.gone" };
const ready = (target: string): ActivationEvent => ({ type: "binding.ready", target });
const failed = (target: string): ActivationEvent => ({ type: "binding.failed", target });

const allEvents = ["p", "q"].flatMap((target) => [found(target), ready(target), failed(target)]);

describe("activation", () => {
  it("has a path to each state, and shows on it what the table shows", () => {
    const { actions } = doorOf();
    const paths = getShortestPaths(activationMachine, {
      input: actions,
      events: [...allEvents, gone] as never,
      serializeState: ({ value, context }) =>
        JSON.stringify([value, (context as { target: unknown }).target, context.bound]),
    });

    expect([...new Set(paths.map(({ state }) => state.value))].sort()).toEqual(
      ["active", "none", "pending", "resting", "unavailable"].sort(),
    );
    for (const { state, steps } of paths) {
      const events = steps.map(({ event }) => event as ActivationEvent);
      const route = events
        .filter((event) => (event.type as string) !== "xstate.init")
        .reduce(next, fresh);
      const { context, value } = state;
      expect({
        state: reportedActivation(value),
        target: context.target,
        bound: context.bound,
      }).toEqual({ state: reported(route), target: route.target, bound: route.bound });
    }
  });

  it("agrees with the table after any history, and lets requests in exactly while active", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...allEvents, gone), { maxLength: 30 }), (events) => {
        const { actor, door, state } = startedMachine();
        let route = fresh;
        for (const event of events) {
          actor.send(event);
          route = next(route, event);
          expect(state()).toBe(reported(route));
          expect(door.isOpen).toBe(state() === "active");
        }
        actor.stop();
      }),
    );
  });

  it("asks for one binding a target, and for none when a kept one fits again", () => {
    const { actor, door } = startedMachine();

    for (const event of [found("p"), found("p"), ready("p"), gone, found("p")]) actor.send(event);

    expect(door).toEqual({ isOpen: true, bound: ["p"], shutFor: [null] });
  });

  it("closes at once when prefill goes, and drops a binding when another set takes its place", () => {
    const { actor, door, state } = startedMachine();

    for (const event of [found("p"), ready("p"), found("q")]) actor.send(event);
    expect([state(), door.isOpen]).toEqual(["pending", false]);

    for (const event of [ready("q"), gone]) actor.send(event);
    expect([state(), door.isOpen]).toEqual(["unavailable", false]);
    expect(door.shutFor).toEqual(["q", null]);
  });

  it("tries a failed binding again after a second, and forgets the try when the target goes", async () => {
    const { actor, clock, door, state } = startedMachine();
    actor.send(found("p"));
    actor.send(failed("p"));
    expect(state()).toBe("pending");

    await clock.advanceBy(999);
    expect(door.bound).toEqual(["p"]);
    await clock.advanceBy(1);
    expect(door.bound).toEqual(["p", "p"]);

    actor.send(failed("p"));
    actor.send(gone);
    await clock.advanceBy(5_000);
    expect([state(), door.bound.length, clock.pendingTimers]).toEqual(["unavailable", 2, 0]);
  });

  it("is not confused by the outcome of a binding that nobody wants any more", () => {
    const { actor, state } = startedMachine();

    for (const event of [found("p"), found("q"), ready("p")]) actor.send(event);
    expect(state()).toBe("pending");
    actor.send(failed("p"));
    actor.send(ready("q"));

    expect(state()).toBe("active");
  });
});
