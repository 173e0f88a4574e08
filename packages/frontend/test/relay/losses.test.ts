import { actorId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { endOf, entryOf, RelayRig } from "../support/relay-rig.ts";

describe("a peer that is gone", () => {
  it("no prefill router: prefill_activating, at once", async () => {
    const rig = new RelayRig(undefined, { routers: false });
    const one = rig.submit();
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed prefill.queued prefill_activating");
    expect(rig.cleanups).toEqual([]);
  });

  it("no router lives, as their silence shows: refused before anybody pays for a prefill", async () => {
    const rig = new RelayRig();
    rig.goneRouters.add("decode-router");
    const one = rig.submit();
    await rig.settle();
    rig.goneRouters.add("prefill-router");
    const other = rig.submit();
    await rig.settle();

    expect(one.sink.outcome()).toBe("failed preparing not_ready");
    expect(other.sink.outcome()).toBe("failed preparing prefill_activating");
    expect(rig.routedPrefills).toEqual([]);
  });

  it("no router right after the bus was away: bus_unavailable, and activating once they had their time", async () => {
    const rig = new RelayRig(undefined, { routers: false });
    rig.network.disconnect(rig.frontendId);
    await rig.settle(100);
    rig.network.reconnect(rig.frontendId);
    await rig.settle(10);
    const one = rig.submit();
    await rig.settle(10);
    await rig.settle(1_500);
    const other = rig.submit();
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("failed prefill.queued bus_unavailable");
    expect(other.sink.outcome()).toBe("failed prefill.queued prefill_activating");
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

  it.each([
    ["prefill", "settle", "prefill.queued"],
    ["decode", "toDecodeRouting", "decode.routing"],
  ] as const)(
    "a router that says nothing of a %s that was asked for before the bus was away: bus_unavailable, and nobody is blamed",
    async (_, reach, stage) => {
      const rig = new RelayRig();
      const one = rig.submit();
      await rig.settle();
      if (reach !== "settle") await rig[reach](one);
      rig.network.disconnect(rig.frontendId);
      await rig.settle(100);
      rig.network.reconnect(rig.frontendId);
      const other = rig.submit();

      await rig.settle(1_400);
      expect(one.sink.outcome()).toBe("running");
      await rig.settle(300);

      expect(one.sink.outcome()).toBe(`failed ${stage} bus_unavailable`);
      expect(other.sink.outcome()).toBe("failed prefill.queued router_lost");
    },
  );

  it("a router that nobody could hear while this process stood still has its time once more", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle(100);

    rig.standStill(1_500);
    await rig.settle(100);
    rig.dispatched(one, "prefill", "p1");
    await rig.settle(2_000);

    expect(one.sink.outcome()).toBe("running");
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

    rig.relay.routerLost(actorId("pr1"), "prefill-router");

    expect(one.sink.outcome()).toBe("failed prefill.queued router_lost");
    expect(other.sink.outcome()).toBe("running");
  });

  it("a router, and one that was asked at that moment and is not spoken for: router_lost soon after", async () => {
    const rig = new RelayRig();
    const mute = rig.submit();
    const held = rig.submit();
    await rig.settle();
    rig.queued(held, "prefill", "pr2");
    await rig.settle();

    rig.relay.routerLost(actorId("pr1"), "prefill-router");
    expect(mute.sink.outcome()).toBe("running");
    const later = rig.submit();
    await rig.settle(310);

    expect(mute.sink.outcome()).toBe("failed prefill.queued router_lost");
    expect(held.sink.outcome()).toBe("running");
    expect(later.sink.outcome()).toBe("running");
  });

  it("a router of the other kind: nothing happens", async () => {
    const rig = new RelayRig();
    const mute = rig.submit();
    await rig.settle();

    rig.relay.routerLost(actorId("dr1"), "decode-router");
    await rig.settle(400);

    expect(mute.sink.outcome()).toBe("running");
  });

  it("maybe the router, for all that a request that waits knows: it is asked, time and again", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle(90);
    expect(rig.askedRouters).toEqual([]);
    rig.queued(one, "prefill", "pr1");
    await rig.settle(500);
    expect(rig.askedRouters.length).toBeGreaterThanOrEqual(3);
    rig.dispatched(one, "prefill", "p1");
    await rig.settle();
    const asked = rig.askedRouters.length;
    await rig.settle(500);

    expect(new Set(rig.askedRouters)).toEqual(new Set(["prefill-router"]));
    expect(rig.askedRouters).toHaveLength(asked);
  });

  it("a router of several that hangs: another is asked by name, and its loss is that of the request", async () => {
    const rig = new RelayRig();
    rig.hearNamedRouter("pr2");
    const one = rig.submit();
    await rig.settle(10);
    expect(rig.routedPrefills).toEqual([]);
    expect(rig.routedByName).toHaveLength(1);

    rig.relay.routerLost(actorId("pr2"), "prefill-router");

    expect(one.sink.outcome()).toBe("failed prefill.queued router_lost");
  });

  it("the router that was named, for this model: all are asked", async () => {
    const rig = new RelayRig();
    rig.namedRouters.set("prefill-router", actorId("pr3"));
    const one = rig.submit();
    await rig.settle(10);

    expect(rig.routedPrefills).toHaveLength(1);
    expect(one.sink.outcome()).toBe("running");
  });

  it("a router that has dispatched already may go", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();
    rig.queued(one, "prefill", "pr1");
    rig.dispatched(one, "prefill", "p1");
    await rig.settle();

    rig.relay.routerLost(actorId("pr1"), "prefill-router");

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

  it.each([
    ["prefill", "p1", "settle", "prefill.running"],
    ["decode", "d1", "toDecodeRouting", "handoff"],
  ] as const)(
    "the %s worker, just before the router tells that it was chosen: worker_lost",
    async (leg, worker, reach, stage) => {
      const rig = new RelayRig();
      const one = rig.submit();
      await rig.settle();
      if (reach !== "settle") await rig[reach](one);

      rig.view.lose(worker);
      rig.dispatched(one, leg, worker);
      await rig.settle(10);

      expect(one.sink.outcome()).toBe(`failed ${stage} worker_lost`);
    },
  );

  it("an earlier life of the worker that was chosen: nothing happens", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.settle();

    rig.view.lose("p1");
    rig.dispatched(one, "prefill", "p1", 2);
    await rig.settle(10);

    expect(one.sink.outcome()).toBe("running");
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

describe("a worker's word of what it runs", () => {
  it("ends a request whose last words were lost", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    for (let report = 0; report < 3; report += 1) {
      rig.view.load("p1", []);
      await rig.settle(250);
    }
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
    await rig.settle(250);
    rig.view.load("d1", []);
    await rig.settle(10);

    expect(one.sink.text()).toBe("A!");
    expect(one.sink.outcome()).toBe("completed");
  });

  it("is stale when it comes many times at once, after a pause of the bus", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    for (let report = 0; report < 12; report += 1) rig.view.load("p1", []);
    await rig.settle(250);
    rig.view.load("p1", [one.id]);

    expect(one.sink.outcome()).toBe("running");
  });

  it("does not end a request that it lists", async () => {
    const rig = new RelayRig();
    const one = rig.submit();
    await rig.toPrefillRunning(one);

    for (let report = 0; report < 3; report += 1) {
      rig.view.load("p1", []);
      await rig.settle(250);
    }
    rig.view.load("p1", [one.id]);
    rig.view.load("p1", []);
    rig.view.load("p1", null);

    expect(one.sink.outcome()).toBe("running");
  });
});

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
