import { type ErrorCode, ServingError, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { endOf, entryOf, RelayRig } from "../support/relay-rig.ts";

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

describe("messages that are not for a request", () => {
  it("are dropped when they come from another life of this Frontend", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.frame("d1", [entryOf(one, "old", 0)], { frontendGeneration: 6 });
    await rig.settle();

    expect(one.sink.text()).toBe("");
  });

  it("are dropped when they claim a later life of their worker, and what it really says goes on", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    rig.frame("d1", [entryOf(one, "X", 1)], { generation: 9, sequence: 0 });
    rig.frame("d1", [entryOf(one, "B", 1, endOf("stop"))], { sequence: 1 });
    await rig.settle(10);

    expect(one.sink.outcome()).toContain("completed");
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

  it("change nothing when a worker says again that it has prefilled", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);

    rig.prefilled(one);
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("running");
    expect(rig.routedDecodes).toHaveLength(1);
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
