import { describe, expect, it } from "vitest";
import { endOf, entryOf, RelayRig } from "../support/relay-rig.ts";

describe("frames that are lost on the way", () => {
  it("are fetched from the worker's ring, and nothing is out of order", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    rig.nextFrame("d1", [entryOf(one, "b", 1)]);
    rig.nextFrame("d1", [entryOf(one, "c", 2)]);
    rig.frame("d1", [entryOf(one, "d", 3, endOf("stop"))]);
    await rig.settle(10);

    expect(rig.framesAsked).toMatchObject([{ from: 1, to: 2 }]);
    expect(one.sink.text()).toBe("Abcd");
    expect(one.sink.outcome()).toBe("completed");
  });

  it("end the worker's streams when its ring has them no more", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);

    rig.nextFrame("d1", [entryOf(one, "b", 1)]);
    rig.ring.clear();
    rig.frame("d1", [entryOf(one, "c", 2)]);
    await rig.settle(10);

    expect(one.sink.text()).toBe("A");
    expect(one.sink.outcome()).toBe("failed decode.streaming bus_unavailable");
  });
});

describe("the Frontend's own bus", () => {
  it("goes and comes back: streams go on with what they missed", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toStreaming(one);
    rig.network.disconnect(rig.frontendId);
    rig.frame("d1", [entryOf(one, "b", 1)]);
    await rig.settle(1_000);
    rig.frame("d1", [entryOf(one, "c", 2, endOf("stop"))]);
    await rig.settle(1_000);
    expect(one.sink.text()).toBe("A");

    rig.network.reconnect(rig.frontendId);
    await rig.settle(100);

    expect(one.sink.text()).toBe("Abc");
    expect(one.sink.outcome()).toBe("completed");
  });

  it("stays away: streams end with bus_unavailable after the limit", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();
    rig.queued(one, "prefill");
    await rig.settle();
    const streaming = rig.submit();
    await rig.toStreaming(streaming);
    rig.network.disconnect(rig.frontendId);

    await rig.settle(1_900);
    expect(streaming.sink.outcome()).toBe("running");
    await rig.settle(9_000);

    expect(streaming.sink.ends).toHaveLength(1);
    expect(streaming.sink.outcome()).toMatch(/^failed decode.streaming /);
  });

  it("is not a router's fault while it is gone", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();
    rig.network.disconnect(rig.frontendId);

    await rig.settle(1_800);
    expect(one.sink.outcome()).toBe("running");
    rig.network.reconnect(rig.frontendId);
    await rig.settle(10);
    rig.queued(one, "prefill");
    await rig.settle(100);

    expect(one.sink.outcome()).toBe("running");
  });
});
