import { actorId, CancelRoute, RouteDecode, requestId, ServingError } from "@baton/protocol";
import { loadReport, memoryCluster, routeDecode } from "@baton/testing";
import { expect, it } from "vitest";
import { DeskHost } from "../src/desk-host.ts";
import { routerMetrics } from "../src/router-metrics.ts";
import {
  limits,
  linesOf,
  listenAs,
  loadedPolicy,
  model,
  noFeed,
  noneHeld,
  plainPolicy,
} from "./support/desk-rig.ts";
import { FakeView, workerView } from "./support/fake-view.ts";

function rig() {
  const cluster = memoryCluster();
  const worker = workerView("w-1", { capacity: { maxSequences: 1 } });
  const ctx = cluster.context({ role: "decode-router", id: "d-1" });
  listenAs(cluster, "w-1");
  const lines = linesOf(cluster);
  const host = new DeskHost<RouteDecode>(
    { model, limits },
    {
      ctx,
      view: new FakeView([worker]),
      policy: plainPolicy,
      loaded: loadedPolicy(),
      openFeed: noFeed,
      message: RouteDecode,
      metrics: routerMetrics(ctx.metrics, "decode", noneHeld),
    },
  );
  const frontend = cluster.bus("f-1");
  const say = async (subject: string, payload: Uint8Array) => {
    frontend.publish(subject, payload);
    await cluster.clock.advanceBy(0);
    return lines.splice(0);
  };
  const { subjects } = cluster;
  return {
    host,
    worker,
    send: (id: string) =>
      frontend.publish(subjects.route("decode-router", model), RouteDecode.encode(routeDecode(id))),
    heard: async () => {
      await cluster.clock.advanceBy(0);
      return lines.splice(0);
    },
    askByName: (id: string) =>
      say(
        subjects.routeTo("decode-router", model, actorId("d-1")),
        RouteDecode.encode(routeDecode(id)),
      ),
    ask: (id: string) =>
      say(subjects.route("decode-router", model), RouteDecode.encode(routeDecode(id))),
    cancel: (id: string) =>
      say(
        subjects.routeCancel("decode-router", model),
        CancelRoute.encode({ requestIds: [requestId(id)] }),
      ),
  };
}

it("hears cancels before it serves, so that none can overtake it unheard", async () => {
  const { host, ask, cancel } = rig();
  await cancel("r1");

  host.serve();
  host.serve();

  expect(await ask("r1")).toEqual([]);
  expect(await ask("r2")).toEqual([
    "booked r2 w-1",
    "generate w-1 r2",
    "dispatched r2 w-1 after 0",
  ]);
});

it("takes what it is asked by name, while it is in the queue group", async () => {
  const { host, askByName } = rig();
  expect(await askByName("r1")).toEqual([]);
  host.serve();
  expect(await askByName("r2")).toEqual([
    "booked r2 w-1",
    "generate w-1 r2",
    "dispatched r2 w-1 after 0",
  ]);
  host.hold(new ServingError("not_ready"));
  expect(await askByName("r3")).toEqual([]);
});

it("leaves the queue group, refuses what waits, and still hears the end of what is booked", async () => {
  const { host, ask, cancel } = rig();
  host.serve();
  for (const id of ["r1", "r2"]) await ask(id);

  host.hold(new ServingError("not_ready"));
  expect([host.isServing, host.isIdle]).toEqual([false, false]);
  expect(await ask("r3")).toEqual(["failed r2 not_ready"]);

  await cancel("r1");
  expect(host.isIdle).toBe(true);
});

it("refuses a request that was under way when it left the queue group", async () => {
  const { host, send, heard } = rig();
  host.serve();

  send("r1");
  host.hold(new ServingError("draining"));

  expect(await heard()).toEqual(["failed r1 draining"]);
});

it("does not listen to reports of workers that its role does not choose", async () => {
  const { host, worker, ask } = rig();
  host.serve();
  await ask("r1");
  const report = loadReport("w-1", { endedBookings: [requestId("r1")] });

  host.reported({ ...worker, workerType: "prefill" }, report);
  expect(host.desk.booked).toBe(1);
  host.reported(worker, report);

  expect(host.desk.booked).toBe(0);
});

it("hears nothing once it is closed", async () => {
  const { host, ask, cancel } = rig();
  host.serve();
  await ask("r1");

  host.close();
  await cancel("r1");

  expect([await ask("r2"), host.desk.booked]).toEqual([[], 1]);
});
