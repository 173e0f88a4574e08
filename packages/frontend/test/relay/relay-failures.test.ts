import { type ErrorCode, ServingError, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { endOf, entryOf, RelayRig, type Submitted } from "../support/relay-rig.ts";

const engineFailed = new ServingError("engine_failed");
const bothCancels = ["cancel decode-router r1", "cancel prefill-router r1"];

describe("a leg that fails", () => {
  it("ends the request once when the prefill router refuses, and aborts nothing", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();

    rig.legFailed(one, "prefill", "pr1", new ServingError("overloaded"));
    rig.legFailed(one, "prefill", "pr1", new ServingError("overloaded"));
    await rig.settle(10);

    expect(one.sink.ends).toHaveLength(1);
    expect(one.sink.outcome()).toBe("failed prefill.queued overloaded");
    expect(rig.cleanups).toEqual([]);
  });

  it("ends the request when the prefill worker fails, and cancels its route", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    rig.legFailed(one, "prefill", "p1", engineFailed);
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed prefill.running engine_failed");
    expect(rig.cleanups).toEqual(["cancel prefill-router r1"]);
    expect(rig.routedDecodes).toEqual([]);
  });

  it("takes a worker's failure for its dispatch notice", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toDecodeRouting(one);

    rig.legFailed(one, "decode", "d1", new ServingError("kv_transfer_failed"));
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed handoff kv_transfer_failed");
    expect(rig.statesOf(one)).toContain("handoff");
  });

  it("drops the staged KV of prefill when decode fails", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.legFailed(one, "decode", "d1", new ServingError("handoff_refused"));
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed handoff handoff_refused");
    expect(rig.cleanups.sort()).toEqual(["abort p1 r1", ...bothCancels]);
  });

  it("gives out the text that came before a failure in the stream", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    const end = { reason: "error", error: engineFailed, cachedTokens: 0 } as const;
    rig.frame("d1", [entryOf(one, "Hel", 0)]);
    rig.frame("d1", [entryOf(one, "lo", 3, end)]);
    await rig.settle(10);

    expect(one.sink.text()).toBe("Hello");
    expect(one.sink.outcome()).toBe("failed decode.streaming engine_failed");
  });

  it.each<[ErrorCode, ErrorCode]>([
    ["no_responders", "worker_lost"],
    ["malformed_message", "internal"],
  ])("shows a client %s as %s", async (inner, outer) => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    rig.legFailed(one, "prefill", "pr1", new ServingError(inner));
    await rig.settle();

    expect(one.sink.outcome()).toBe(`failed prefill.running ${outer}`);
  });
});

describe("a peer that is gone", () => {
  it("no prefill router: prefill_activating, at once", async () => {
    const rig = new RelayRig(undefined, { routers: false });
    const one = rig.submit();
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed prefill.queued prefill_activating");
    expect(rig.cleanups).toEqual([]);
  });

  it("no decode router: not_ready, at once", async () => {
    const rig = new RelayRig([{ id: "a1", type: "aggregated" }], { routers: false });
    const one = rig.submit();
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed decode.queued not_ready");
  });

  it("a router that says nothing: router_lost after its time", async () => {
    const rig = new RelayRig();
    const one = rig.submit();

    await rig.settle(1_400);
    expect(one.sink.outcome()).toBe("running");
    await rig.settle(200);

    expect(one.sink.outcome()).toBe("failed prefill.queued router_lost");
    expect(rig.cleanups).toEqual(["abort anywhere r1", "cancel prefill-router r1"]);
  });

  it("the router that holds the request in its queue: router_lost", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    const other = rig.submit();
    await rig.settle();
    rig.queued(one, "prefill", "pr1");
    rig.queued(other, "prefill", "pr2");
    await rig.settle(1_600);
    expect(one.sink.outcome()).toBe("running");

    rig.relay.routerLost("pr1" as Parameters<typeof rig.relay.routerLost>[0]);

    expect(one.sink.outcome()).toBe("failed prefill.queued router_lost");
    expect(other.sink.outcome()).toBe("running");
  });

  it("a router that has dispatched already may go", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();
    rig.queued(one, "prefill", "pr1");
    rig.dispatched(one, "prefill", "p1");
    await rig.settle();

    rig.relay.routerLost("pr1" as Parameters<typeof rig.relay.routerLost>[0]);

    expect(one.sink.outcome()).toBe("running");
  });

  it.each([
    ["prefill.running", "toPrefillRunning"],
    ["decode.routing", "toDecodeRouting"],
    ["handoff", "toHandoff"],
  ] as const)("the prefill worker, in %s: worker_lost", async (stage, reach) => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig[reach](one);

    rig.view.lose("p1");

    expect(one.sink.outcome()).toBe(`failed ${stage} worker_lost`);
  });

  it("the prefill worker, once tokens stream: nothing happens", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    rig.view.lose("p1");

    expect(one.sink.outcome()).toBe("running");
  });

  it("the decode worker in mid-stream: worker_lost for its streams only", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    const other = rig.submit();
    await rig.toStreaming(one);
    await rig.toPrefillRunning(other);

    rig.view.lose("d1");
    await rig.settle();

    expect(one.sink.text()).toBe("A");
    expect(one.sink.outcome()).toBe("failed decode.streaming worker_lost");
    expect(other.sink.outcome()).toBe("running");
  });

  it("an earlier generation of the worker: nothing happens", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);
    rig.prefilled(one);
    await rig.settle();
    rig.dispatched(one, "decode", "d1", 5);
    await rig.settle();

    rig.view.lose("d1");

    expect(one.sink.outcome()).toBe("running");
  });
});

describe("a deadline that passes", () => {
  const reach: Record<string, (rig: RelayRig, one: Submitted) => Promise<void>> = {
    "prefill.queued": async (rig, one) => {
      await rig.settle();
      rig.queued(one, "prefill");
      await rig.settle();
    },
    "prefill.running": (rig, one) => rig.toPrefillRunning(one),
    "decode.routing": async (rig, one) => {
      await rig.toDecodeRouting(one);
      rig.queued(one, "decode");
      await rig.settle();
    },
    handoff: (rig, one) => rig.toHandoff(one),
    "decode.streaming": (rig, one) => rig.toStreaming(one),
  };

  it.each(Object.entries(reach))("fails in %s", async (stage, go) => {
    const rig = new RelayRig();
    const one = rig.submit();
    await go(rig, one);

    await rig.settle(4_100);

    expect(one.sink.outcome()).toBe(`failed ${stage} deadline_exceeded`);
    expect(rig.table.live.size).toBe(0);
  });

  it("fails in preparing", async () => {
    const rig = new RelayRig();
    rig.prepare = () => new Promise(() => undefined);
    const one = rig.submit();

    await rig.settle(1_100);

    expect(one.sink.outcome()).toBe("failed preparing deadline_exceeded");
  });

  it("does not pass while tokens come", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    for (let at = 1; at < 5; at += 1) {
      await rig.settle(3_000);
      rig.frame("d1", [entryOf(one, "x", at)]);
    }
    await rig.settle();

    expect(one.sink.outcome()).toBe("running");
  });
});

describe("messages that are not for a request", () => {
  it("are dropped when they come from another life of this Frontend", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.frame("d1", [entryOf(one, "old", 0)], { frontendGeneration: 6 });
    await rig.settle();

    expect(one.sink.text()).toBe("");
  });

  it("are dropped when their worker is not the one that has the request", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.frame("d2", [entryOf(one, "foreign", 0)], { sequence: 0 });
    rig.frame("d1", [entryOf(one, "later life", 0)], { sequence: 0, generation: 2 });
    await rig.settle();

    expect(one.sink.text()).toBe("");
    expect(one.sink.outcome()).toBe("running");
  });

  it("are dropped when another worker says that it has prefilled", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    rig.prefilled(one, { workerId: workerId("p2") });
    await rig.settle(10);

    expect(rig.statesOf(one).at(-1)).toBe("prefill.running");
    expect(rig.routedDecodes).toEqual([]);
  });

  it("are dropped after the end, and before decode was asked", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);
    rig.frame("d1", [entryOf(one, "early", 0)]);
    await rig.settle();
    expect(one.sink.text()).toBe("");

    one.handle.cancel();
    rig.prefilled(one);
    rig.dispatched(one, "decode", "d1");
    await rig.settle();

    expect(one.sink.ends).toHaveLength(1);
    expect(rig.routedDecodes).toEqual([]);
  });

  it("stop nothing when they cannot be decoded", () => {
    const rig = new RelayRig();

    expect(() => rig.relay.hear("tokens", Uint8Array.of(0xc1))).not.toThrow();
    expect(() => rig.relay.hear("failed", Uint8Array.of(0x93, 1, 2, 3))).not.toThrow();
  });

  it("make no second answer of a repeated frame", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.frame("d1", [entryOf(one, "Hi", 0)], { sequence: 0 });
    rig.frame("d1", [entryOf(one, "Hi", 0)], { sequence: 0 });
    rig.frame("d1", [entryOf(one, "Hi!", 0, endOf("stop"))], { sequence: 1 });
    await rig.settle();

    expect(one.sink.text()).toBe("Hi!");
  });
});

describe("a worker's word of what it runs", () => {
  it("ends a request whose last words were lost", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    for (let report = 0; report < 3; report += 1) rig.view.load("p1", []);
    expect(one.sink.outcome()).toBe("running");
    rig.view.load("p1", []);

    expect(one.sink.outcome()).toBe("failed prefill.running bus_unavailable");
  });

  it("fetches the last frame that nothing tells of", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);
    rig.nextFrame("d1", [entryOf(one, "!", 1, endOf("stop"))]);

    rig.view.load("d1", []);
    rig.view.load("d1", []);
    await rig.settle(10);

    expect(one.sink.text()).toBe("A!");
    expect(one.sink.outcome()).toBe("completed");
  });

  it("does not end a request that it lists", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    for (let report = 0; report < 3; report += 1) rig.view.load("p1", []);
    rig.view.load("p1", [one.id]);
    rig.view.load("p1", []);
    rig.view.load("p1", null);

    expect(one.sink.outcome()).toBe("running");
  });
});

describe("engine_protocol", () => {
  it("is what a prefill is that goes on and stages nothing", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    rig.prefilled(one, { handoff: null, workerId: workerId("p1") });
    await rig.settle();

    expect(one.sink.outcome()).toBe("failed prefill.running engine_protocol");
  });
});
