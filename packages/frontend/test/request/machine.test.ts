import { type RequestState, requestStates } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { getShortestPaths, getSimplePaths } from "xstate/graph";
import { type RequestEvent, requestMachine } from "../../src/request/machine.ts";
import { someError as error, everyEvent as events } from "../support/request-events.ts";

/** `architecture.md` §3, as edges. */
const nextStates: Readonly<Record<RequestState, readonly RequestState[]>> = {
  received: ["preparing", "failed", "cancelled"],
  preparing: ["prefill.queued", "decode.queued", "failed", "cancelled"],
  "prefill.queued": ["prefill.running", "failed", "cancelled"],
  "prefill.running": ["decode.routing", "completed", "failed", "cancelled"],
  "decode.routing": ["handoff", "failed", "cancelled"],
  handoff: ["decode.streaming", "failed", "cancelled"],
  "decode.queued": ["decode.running", "failed", "cancelled"],
  "decode.running": ["decode.streaming", "failed", "cancelled"],
  "decode.streaming": ["completed", "failed", "cancelled"],
  completed: [],
  failed: [],
  cancelled: [],
};
const finalStates: readonly RequestState[] = ["completed", "failed", "cancelled"];

/** What xstate's own actor enters. */
function walk(sent: readonly RequestEvent[]): RequestState[] {
  const entered: RequestState[] = [];
  const enter = (_: unknown, { state }: { readonly state: RequestState }) => entered.push(state);
  const actor = createActor(requestMachine.provide({ actions: { enter } }));
  actor.start();
  for (const event of sent) {
    // The relay drops what comes after the end, as here.
    if (actor.getSnapshot().status === "active") actor.send(event);
  }
  return entered;
}

const paths = getSimplePaths(requestMachine, { events });
const sentOf = (path: (typeof paths)[number]): RequestEvent[] =>
  path.steps.map((step) => step.event as RequestEvent).filter((event) => events.includes(event));

describe("the request machine", () => {
  it("enters only states that may follow, on every path", () => {
    expect(paths.length).toBeGreaterThan(50);
    for (const path of paths) {
      const entered = walk(sentOf(path));
      expect(entered[0]).toBe("received");
      for (let at = 1; at < entered.length; at += 1) {
        expect(nextStates[entered[at - 1]!]).toContain(entered[at]);
      }
    }
  });

  it("reaches every state that the protocol names", () => {
    const reached = new Set(paths.flatMap((path) => walk(sentOf(path))));

    expect([...reached].sort()).toEqual([...requestStates].sort());
  });

  it("ends exactly once, whatever it hears after", () => {
    for (const path of getShortestPaths(requestMachine, { events })) {
      const sent = [...sentOf(path), { type: "cancelled" } as const, ...events];
      const ends = walk(sent).filter((state) => finalStates.includes(state));
      expect(ends).toHaveLength(1);
    }
  });

  it("can fail, be lost, be cancelled or miss its deadline in every state that is not final", () => {
    for (const path of getShortestPaths(requestMachine, { events })) {
      const before = walk(sentOf(path));
      if (finalStates.includes(before.at(-1)!)) continue;
      const after = (event: RequestEvent) => walk([...sentOf(path), event]).at(-1);
      expect(after({ type: "failed", error })).toBe("failed");
      expect(after({ type: "lost", error })).toBe("failed");
      expect(after({ type: "deadline.passed" })).toBe("failed");
      expect(after({ type: "cancelled" })).toBe("cancelled");
    }
  });

  it("passes the states that a message overtook", () => {
    const overtaken = walk([
      { type: "prepare" },
      { type: "route.prefill" },
      { type: "prefill.done", ended: false },
      { type: "first.token" },
      { type: "finished" },
    ]);

    expect(overtaken).toEqual([
      "received",
      "preparing",
      "prefill.queued",
      "prefill.running",
      "decode.routing",
      "handoff",
      "decode.streaming",
      "completed",
    ]);
  });

  it("ends without decode when prefill ends the generation", () => {
    const ended = walk([
      { type: "prepare" },
      { type: "route.prefill" },
      { type: "prefill.done", ended: true },
    ]);

    expect(ended).toEqual([
      "received",
      "preparing",
      "prefill.queued",
      "prefill.running",
      "completed",
    ]);
  });

  it("ignores a dispatch notice that comes after what it announces", () => {
    const late = walk([
      { type: "prepare" },
      { type: "route.decode" },
      { type: "first.token" },
      { type: "decode.dispatched" },
      { type: "prefill.dispatched" },
    ]);

    expect(late.at(-1)).toBe("decode.streaming");
  });
});
