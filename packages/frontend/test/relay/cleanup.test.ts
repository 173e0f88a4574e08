import { describe, expect, it } from "vitest";
import { entryOf, RelayRig, type Submitted } from "../support/relay-rig.ts";

type Reach = (rig: RelayRig, one: Submitted) => Promise<void>;

const bothCancels = ["cancel decode-router r1", "cancel prefill-router r1"];
const states: readonly (readonly [stage: string, reach: Reach, cleanups: readonly string[]])[] = [
  ["prefill.queued", (rig) => rig.settle(), ["abort anywhere r1", "cancel prefill-router r1"]],
  [
    "prefill.running",
    (rig, one) => rig.toPrefillRunning(one),
    ["abort p1 r1", "cancel prefill-router r1"],
  ],
  [
    "decode.routing",
    (rig, one) => rig.toDecodeRouting(one),
    ["abort anywhere r1", "abort p1 r1", ...bothCancels],
  ],
  ["handoff", (rig, one) => rig.toHandoff(one), ["abort d1 r1", "abort p1 r1", ...bothCancels]],
  [
    "decode.streaming",
    (rig, one) => rig.toStreaming(one),
    ["abort d1 r1", "abort p1 r1", ...bothCancels],
  ],
];

describe("a client that leaves", () => {
  it.each(states)("in %s: cancelled at once, everybody told", async (stage, reach, cleanups) => {
    const rig = new RelayRig();
    const one = rig.submit();
    await reach(rig, one);

    one.handle.cancel();
    expect(one.sink.outcome()).toBe(`cancelled ${stage}`);
    await rig.settle(10);

    expect(rig.cleanups.sort()).toEqual(cleanups);
    expect(rig.statesOf(one).at(-1)).toBe("cancelled");
    expect(rig.table.live.size).toBe(0);
  });

  it("in preparing: cancelled, nobody asked", async () => {
    const rig = new RelayRig();
    const one = rig.submit();

    one.handle.cancel();
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("cancelled preparing");
    expect(rig.routedPrefills).toEqual([]);
    expect(rig.cleanups).toEqual([]);
  });

  it.each([
    ["decode.queued", false, ["abort anywhere r1", "cancel decode-router r1"]],
    ["decode.running", true, ["abort a1 r1", "cancel decode-router r1"]],
  ] as const)("in %s: cancelled at once", async (stage, isDispatched, cleanups) => {
    const rig = new RelayRig([{ id: "a1", type: "aggregated" }]);
    const one = rig.submit();
    await rig.settle();
    if (isDispatched) rig.dispatched(one, "decode", "a1");
    await rig.settle();

    one.handle.cancel();
    await rig.settle(10);

    expect(one.sink.outcome()).toBe(`cancelled ${stage}`);
    expect(rig.cleanups.sort()).toEqual(cleanups);
  });

  it("twice, or after the end: ends once", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    one.handle.cancel();
    one.handle.cancel();
    rig.frame("d1", [entryOf(one, "late", 1)]);
    await rig.settle();

    expect(one.sink.ends).toHaveLength(1);
    expect(one.sink.text()).toBe("A");
  });

  it("while the bus is gone: everybody is told when it is back", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toHandoff(one);
    rig.network.disconnect(rig.frontendId);

    one.handle.cancel();
    await rig.settle(100);
    expect(rig.cleanups).toEqual([]);
    rig.network.reconnect(rig.frontendId);
    await rig.settle(100);

    expect(rig.cleanups.sort()).toEqual(["abort d1 r1", "abort p1 r1", ...bothCancels]);
  });

  it("is told again to a worker that stages or dispatches after the end", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();
    one.handle.cancel();
    await rig.settle(10);
    rig.cleanups.length = 0;

    rig.prefilled(one);
    await rig.settle();
    rig.dispatched(one, "decode", "d1");
    await rig.settle();

    expect(rig.cleanups).toEqual(["abort p1 r1", "abort d1 r1"]);
  });

  it("is told again to a worker that still sends after half a second, once", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);
    one.handle.cancel();
    rig.frame("d1", [entryOf(one, "x", 1)]);
    await rig.settle(600);
    rig.cleanups.length = 0;

    rig.frame("d1", [entryOf(one, "y", 2)]);
    rig.frame("d1", [entryOf(one, "z", 3)]);
    await rig.settle();

    expect(rig.cleanups).toEqual(["abort d1 r1"]);
  });
});
