import {
  ActorHeartbeat,
  actorId,
  Booking,
  CancelRoute,
  type LoadReport,
  modelName,
  RouteDecode,
  requestId,
  ServingError,
} from "@baton/protocol";
import {
  actorHeartbeat,
  loadReport,
  memoryCluster,
  routeDecode,
  testGeneration,
} from "@baton/testing";
import { describe, expect, it } from "vitest";
import { Router } from "../src/router.ts";
import { linesOf, listenAs, model, plainPolicy } from "./support/desk-rig.ts";
import { FakeView, workerView } from "./support/fake-view.ts";

const settings = {
  routerMode: "least-loaded",
  queueLimit: 8,
  bookingLimit: 100,
  bookingGraceMs: 2_000,
  refusalMs: 1_000,
} as const;
const oneAtATime = { capacity: { maxSequences: 1 } };

async function routerRig(workers = [workerView("w-1", oneAtATime)]) {
  const cluster = memoryCluster();
  const view = new FakeView(workers);
  const ctx = cluster.context({ role: "decode-router", id: "d-1" });
  const lines = linesOf(cluster);
  for (const { id } of workers) listenAs(cluster, id);
  const changes: string[] = [];
  const router = new Router<RouteDecode>(
    ctx,
    settings,
    {
      message: RouteDecode,
      workerRole: "decode",
      workerTypes: plainPolicy.workerTypes,
      policy: () => plainPolicy,
      onChange: () => void changes.push("changed"),
    },
    view,
  );
  const frontend = cluster.bus("f-1");
  const bounced: string[] = [];
  frontend.onUndeliverable((key) => void bounced.push(key));
  await router.start();
  const { subjects, clock } = cluster;
  const say = async (subject: string, payload: Uint8Array, bounceKey = "b") => {
    frontend.publish(subject, payload, { bounceKey });
    await clock.advanceBy(0);
    return lines.splice(0);
  };
  return {
    cluster,
    ctx,
    view,
    router,
    bounced,
    changes,
    lines,
    say,
    ask: (id: string, changesOf: Partial<RouteDecode> = {}) =>
      say(
        subjects.route("decode-router", model),
        RouteDecode.encode(routeDecode(id, changesOf)),
        id,
      ),
    report: async (id: string, facts: Partial<LoadReport>) => {
      view.tellLoad(loadReport(id, facts));
      await clock.advanceBy(0);
      return lines.splice(0);
    },
    gauges: async () => {
      const text = await cluster.metrics.text();
      return ["bookings", "queued"].map((name) =>
        Number(new RegExp(`baton_router_${name}\\{.*\\} (\\d+)`).exec(text)?.[1]),
      );
    },
  };
}

async function serving(workers?: Parameters<typeof routerRig>[0]) {
  const rig = await routerRig(workers);
  rig.router.open(model);
  rig.router.onState("ready");
  return rig;
}

describe("a router's queue groups", () => {
  it("are joined when the model is open and the actor is ready, whichever comes last", async () => {
    const { router, ask, bounced } = await routerRig();

    router.open(model);
    await ask("r1");
    router.onState("ready");
    expect(await ask("r2")).toContain("generate w-1 r2");
    router.shut(model, new ServingError("not_ready"));
    await ask("r3");
    router.open(model);
    expect(await ask("r4")).toEqual(["queued r4"]);

    expect(bounced).toEqual(["r1", "r3"]);
  });

  it("are left in a drain, and what waits is refused with `draining` before the drain ends", async () => {
    const { router, ask, bounced, cluster, lines } = await serving();
    await ask("r1");
    await ask("r2");

    const drained = router.drain();
    await drained;
    await cluster.clock.advanceBy(0);

    expect(lines).toEqual(["failed r2 draining"]);
    router.open(model);
    await ask("r3");
    expect(bounced).toEqual(["r3"]);
  });

  it("drains with the bus gone", async () => {
    const { router, cluster, ask } = await serving();
    await ask("r1");
    cluster.network.disconnect(actorId("d-1"));

    await expect(router.drain()).resolves.toBeUndefined();
  });

  it("are kept while only the bus is gone", async () => {
    const { router, cluster, ask, bounced } = await serving();

    cluster.network.disconnect(actorId("d-1"));
    router.onState("degraded");
    cluster.network.reconnect(actorId("d-1"));
    router.onState("ready");

    expect(await ask("r1")).toContain("generate w-1 r1");
    expect(bounced).toEqual([]);
  });
});

describe("a router that hears of others", () => {
  it("books what other routers book, and not its own word twice", async () => {
    const { cluster, ask, say, gauges } = await serving();
    await ask("r1");

    const booking = {
      frontendId: actorId("f-1"),
      workerId: actorId("w-1"),
      generation: testGeneration,
      dpRank: 0,
      blocks: 1,
      promptTokens: 1,
      overlapBlocks: 0,
      prefillTokens: 0,
      sequenceHashes: new Uint8Array(),
      expectedOutputTokens: null,
      frontendGeneration: 1,
    };
    const subject = cluster.subjects.booked("decode-router", model);
    const other = { bookingId: requestId("r9"), routerId: actorId("d-2"), ...booking };
    await say(subject, Booking.encode(other));
    await say(
      subject,
      Booking.encode({ ...other, bookingId: requestId("r1"), routerId: actorId("d-1") }),
    );

    expect(await gauges()).toEqual([2, 0]);
  });

  it("hears cancels, and ends of requests from workers of its own role only", async () => {
    const { cluster, ask, say, report, gauges, view } = await serving();
    view.set(workerView("p-1", { workerType: "prefill" }));
    for (const id of ["r1", "r2", "r3"]) await ask(id);

    await report("p-1", { endedBookings: [requestId("r1")], liveBookings: [requestId("r8")] });
    expect(await gauges()).toEqual([1, 2]);

    const cancel = CancelRoute.encode({ requestIds: [requestId("r2")] });
    await say(cluster.subjects.routeCancel("decode-router", model), cancel);
    expect(await report("w-1", { endedBookings: [requestId("r1")] })).toContain("generate w-1 r3");
    expect(await gauges()).toEqual([1, 0]);
  });

  it("forgets a Frontend that says goodbye", async () => {
    const { cluster, ask, say, gauges } = await serving();
    await ask("r1", { frontendGeneration: 5 });
    await ask("r2", { frontendGeneration: 5 });
    const heartbeat = (state: ActorHeartbeat["state"]): Uint8Array =>
      ActorHeartbeat.encode(actorHeartbeat("f-1", { role: "frontend", generation: 5, state }));
    const subject = cluster.subjects.heartbeat("frontend", null, actorId("f-1"));

    await say(subject, heartbeat("ready"));
    expect(await gauges()).toEqual([1, 1]);
    await say(subject, heartbeat("stopped"));

    expect(await gauges()).toEqual([0, 0]);
  });

  it("tells a Frontend of a dispatch that bounced", async () => {
    const { ask, view } = await serving([]);
    view.set(workerView("w-7"));
    view.tellChange();

    expect(await ask("r1")).toEqual([
      "booked r1 w-7",
      "generate w-7 r1",
      "dispatched r1 w-7 after 0",
      "failed r1 worker_lost",
    ]);
  });

  it("refuses what waited while its own bus was gone", async () => {
    const { cluster, ask, lines } = await serving();
    await ask("r1");
    await ask("r2");

    cluster.network.disconnect(actorId("d-1"));
    await cluster.clock.advanceBy(20_000);
    expect(lines).toEqual([]);
    cluster.network.reconnect(actorId("d-1"));

    expect(lines).toEqual(["failed r2 bus_unavailable"]);
  });

  it("counts what it cannot read, and goes on", async () => {
    const { cluster, ask, say } = await serving();

    await say(cluster.subjects.route("decode-router", model), new Uint8Array([0xc1]));

    expect(await ask("r1")).toContain("generate w-1 r1");
    expect(await cluster.metrics.text()).toMatch(/baton_router_malformed_messages_total\{.*\} 1/);
  });
});

describe("a router and its models", () => {
  it("says whether it is synced with each change, after its role has decided what is served", async () => {
    const { ctx, view, changes } = await routerRig();
    view.synced = false;
    view.tellChange();

    expect(ctx.syncs).toEqual([null, "no complete catalog yet"]);
    expect(changes).toEqual(["changed", "changed"]);
  });

  it("sends waiting requests elsewhere when a worker is lost", async () => {
    const { view, ask, lines, cluster } = await serving([
      workerView("w-1", oneAtATime),
      workerView("w-2", oneAtATime),
    ]);
    for (const id of ["r1", "r2", "r3"]) await ask(id);

    const lost = view.lose("w-1");
    view.set(workerView("w-3"));
    view.tellLoss(lost);
    await cluster.clock.advanceBy(0);

    expect(lines).toContain("generate w-3 r3");
  });

  it("keeps the desk of a model that is gone until its last booking has ended", async () => {
    const { router, cluster, ask, gauges, report, view, bounced } = await serving();
    await ask("r1");
    await ask("r2");

    router.retire(model);
    await ask("r3");
    expect([router.models, await gauges(), bounced]).toEqual([[], [1, 0], ["r3"]]);

    await report("w-1", { endedBookings: [requestId("r1")] });
    view.remove("w-1");
    await cluster.clock.advanceBy(50);
    expect(await gauges()).toEqual([0, 0]);
  });

  it("takes up a retired model again when it is back", async () => {
    const { router, ask, bounced } = await serving();
    await ask("r1");

    router.retire(model);
    router.open(model);

    expect(router.models).toEqual([model]);
    expect(await ask("r2")).toEqual(["queued r2"]);
    expect(bounced).toEqual([]);
  });

  it("has a desk for each model", async () => {
    const other = modelName("other");
    const { router, cluster, say } = await serving([
      workerView("w-1"),
      workerView("w-2", { card: { model: other } }),
    ]);
    router.open(other);

    const subject = cluster.subjects.route("decode-router", other);
    const heard = await say(subject, RouteDecode.encode(routeDecode("r1")));

    expect(heard).toContain("booked r1 w-2");
    expect(router.models).toEqual([model, other]);
  });

  it("leaves nothing behind when it stops", async () => {
    const { router, cluster, ask, bounced } = await serving();

    router.stop();
    await ask("r1");

    expect([cluster.clock.pendingTimers, bounced, router.models]).toEqual([0, ["r1"], []]);
  });
});
