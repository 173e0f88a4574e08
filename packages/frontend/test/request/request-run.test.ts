import { type RequestState, requestStates } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { type RequestEvent, requestMachine } from "../../src/request/machine.ts";
import { RequestRun } from "../../src/request/request-run.ts";
import { everyEvent as events } from "../support/request-events.ts";

type Entered = readonly [RequestState, RequestEvent | null];

function run(sent: readonly RequestEvent[]): Entered[] {
  const entered: Entered[] = [];
  const one = new RequestRun({ entered: (state, event) => entered.push([state, event]) });
  one.start();
  for (const event of sent) one.send(event);
  return entered;
}

function actorRun(sent: readonly RequestEvent[]): Entered[] {
  const entered: Entered[] = [];
  const machine = requestMachine.provide({
    actions: {
      enter: ({ event }, { state }) => {
        const isFirst = !events.includes(event);
        entered.push([state, isFirst ? null : event]);
      },
    },
  });
  const actor = createActor(machine);
  actor.start();
  for (const event of sent) if (actor.getSnapshot().status === "active") actor.send(event);
  return entered;
}

describe("a run of the request machine", () => {
  it("enters what xstate's actor enters, with the same events, whatever is sent", () => {
    const reached = new Set<RequestState>();
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 12 }), (sent) => {
        const entered = run(sent);
        for (const [state] of entered) reached.add(state);
        expect(entered).toEqual(actorRun(sent));
      }),
      { numRuns: 3_000, seed: 1 },
    );
    expect([...reached].sort()).toEqual([...requestStates].sort());
  });

  it("acts on what is sent meanwhile afterwards, in order", () => {
    const entered: RequestState[] = [];
    const one: RequestRun = new RequestRun({
      entered: (state) => {
        if (state === "preparing") {
          one.send({ type: "route.decode" });
          one.send({ type: "first.token" });
        }
        entered.push(state);
      },
    });
    one.start();

    one.send({ type: "prepare" });

    expect(entered).toEqual([
      "received",
      "preparing",
      "decode.queued",
      "decode.running",
      "decode.streaming",
    ]);
  });

  it("tells all that follows, in order, after somebody who acts on a state has failed", () => {
    const entered: RequestState[] = [];
    const one: RequestRun = new RequestRun({
      entered: (state) => {
        entered.push(state);
        if (state === "preparing") one.send({ type: "route.prefill" });
        if (state === "preparing" || state === "prefill.running") throw new Error(`at ${state}`);
      },
    });
    one.start();

    expect(() => one.send({ type: "prepare" })).toThrow("at preparing");
    expect(() => one.send({ type: "prefill.done", ended: false })).toThrow("at prefill.running");
    one.send({ type: "cancelled" });

    expect(entered).toEqual([
      "received",
      "preparing",
      "prefill.queued",
      "prefill.running",
      "decode.routing",
      "cancelled",
    ]);
  });
});
