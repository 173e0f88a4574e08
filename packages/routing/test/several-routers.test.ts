import { actorId, LoadReport, RouteDecode, RouteExplained, ServingError } from "@baton/protocol";
import { loadReport, memoryCluster, routeDecode } from "@baton/testing";
import { expect, it } from "vitest";
import { ids } from "./support/bookings.ts";
import { linesOf, listenAs, loadedPolicy, model } from "./support/desk-rig.ts";
import { promptOf } from "./support/fake-feeds.ts";
import { workerView } from "./support/fake-view.ts";
import { hostRig } from "./support/host-rig.ts";
import { asking } from "./support/kv-desk.ts";

/** The longest that a message takes, ms. */
const maxDelayMs = 5;
const workers = [workerView("w-1", { capacity: { dpSize: 2 } }), workerView("w-2")];

/** Routers of one model on a network with delays. The Frontend's requests go to one of them each. */
function routersOf(names: readonly string[], flags: Parameters<typeof loadedPolicy>[0] = {}) {
  const cluster = memoryCluster({ minDelayMs: 1, maxDelayMs });
  const lines = linesOf(cluster);
  for (const { id } of workers) listenAs(cluster, id);
  const loaded = loadedPolicy({ routerMode: "kv", ...flags });
  const policy = { usesKvEvents: (type: string) => type === "decode" };
  const routers = names.map((id) => hostRig(cluster, id, { workers, policy, loaded }));
  const frontend = cluster.bus("f-1");
  const mouth = cluster.bus("mouth");
  return {
    cluster,
    routers,
    pass: (ms = 3 * maxDelayMs) => cluster.clock.advanceBy(ms),
    ask: (request: RouteDecode) =>
      frontend.publish(cluster.subjects.route("decode-router", model), RouteDecode.encode(request)),
    explain: (request: RouteDecode) =>
      frontend
        .request(
          cluster.subjects.explainRoute("decode-router", model),
          RouteDecode.encode(request),
          {
            timeoutMs: 1_000,
          },
        )
        .then(RouteExplained.decode),
    report: (id: string, facts: Partial<LoadReport>) =>
      mouth.publish(
        cluster.subjects.loadReported(model, actorId(id)),
        LoadReport.encode(loadReport(id, facts)),
      ),
    /** What was sent to workers since the last look: `r1 w-1`. */
    sent: () =>
      lines.splice(0).flatMap((line) => {
        const [what, id, worker] = line.split(" ");
        return what === "booked" ? [`${id} ${worker}`] : [];
      }),
    /** What each router compares for one and the same request, and how much it holds. */
    figures: () =>
      routers.map(({ host }) => ({
        booked: host.desk.booked,
        sessions: host.desk.sessions,
        candidates: host.desk.explain(asking("probe", [1, 2, 9])).candidates,
      })),
  };
}

it("agree on every figure one message after each booking, end and word of progress", async () => {
  const rig = routersOf(["d-1", "d-2", "d-3"]);
  const agreed = () => {
    const [first, ...others] = rig.figures();
    for (const figures of others) expect(figures).toEqual(first);
    return first;
  };
  for (const [index, blocks] of [
    [1, 2],
    [1, 2, 3],
    [1, 9],
    [4, 5, 6, 7],
    [1, 2, 9],
  ].entries()) {
    rig.ask(asking(`r${index}`, blocks, { promptTokens: 64 * blocks.length + 7 }));
    await rig.pass();
    expect(agreed()?.booked).toBe(index + 1);
  }
  const placed = rig.sent().map((line) => line.split(" "));
  for (const [id = "", worker = ""] of placed) {
    rig.report(worker, { prefilledBookings: ids(id) });
    await rig.pass();
    agreed();
  }
  for (const [id = "", worker = ""] of placed) {
    rig.report(worker, { endedBookings: ids(id) });
    await rig.pass();
    agreed();
  }

  expect(agreed()?.booked).toBe(0);
});

it("agree again after a worker's heartbeat, though one of them has heard nothing of it before", async () => {
  const rig = routersOf(["d-1", "d-2"]);
  rig.cluster.network.disconnect(actorId("d-2"));
  rig.ask(asking("r1", [5, 6]));
  await rig.pass();
  rig.cluster.network.reconnect(actorId("d-2"));
  const [[, worker = ""] = []] = rig.sent().map((line) => line.split(" "));
  expect(rig.figures().map(({ booked }) => booked)).toEqual([1, 0]);

  const [{ candidates = [] } = {}] = rig.figures();
  const rank = candidates.find(({ terms }) => terms.active_requests === 1)?.dpRank ?? 0;
  rig.report(worker, { liveBookings: ids("r1"), liveStates: [rank, 2, 128, 0] });
  await rig.pass();

  const [one, other] = rig.figures();
  expect(other).toEqual(one);
});

it("send a session where any of them has sent it", async () => {
  const rig = routersOf(["d-1", "d-2"], { sessionAffinityTtlSecs: 1 });
  const inSession = (name: string) => routeDecode(name, { rules: { session: { id: "s" } } });
  for (let count = 0; count < 12; count += 1) {
    rig.ask(inSession(`r${count}`));
    await rig.pass();
  }

  const where = new Set(rig.sent().map((line) => line.split(" ")[1]));
  expect(where.size).toBe(1);
  expect(rig.figures().map(({ sessions }) => sessions)).toEqual([1, 1]);

  for (let count = 0; count < 12; count += 1) {
    for (const worker of where) rig.report(worker ?? "", { endedBookings: ids(`r${count}`) });
  }
  await rig.pass(3_000);
  expect(rig.figures().map(({ booked, sessions }) => [booked, sessions])).toEqual([
    [0, 0],
    [0, 0],
  ]);
});

it("agree in the end on one worker for a session that two of them have bound at once", async () => {
  const rig = routersOf(["d-1", "d-2"], { sessionAffinityTtlSecs: 10 });
  const inSession = (name: string) => asking(name, [3], { rules: { session: { id: "s" } } });
  const [d1, d2] = rig.routers;
  d1?.feeds.hold("w-1", promptOf(3));
  d2?.feeds.hold("w-2", promptOf(3));
  d1?.host.desk.take(inSession("r1"));
  d2?.host.desk.take(inSession("r2"));
  await rig.pass();
  expect(rig.sent().sort()).toEqual(["r1 w-1", "r2 w-2"]);

  d1?.host.desk.take(inSession("r3"));
  d2?.host.desk.take(inSession("r4"));
  await rig.pass();

  const after = new Set(rig.sent().map((line) => line.split(" ")[1]));
  expect(after.size).toBe(1);
});

it("answer what a request would do while serving, holding and draining, one of them each time", async () => {
  const rig = routersOf(["d-1", "d-2"]);
  rig.routers[0]?.host.close();
  const asked = async () => {
    const answer = rig.explain(asking("probe"));
    await rig.pass();
    return answer;
  };
  expect(await asked()).toMatchObject({ routerId: "d-2", mode: "kv", refusal: null });

  rig.routers[1]?.host.hold(new ServingError("draining"));
  expect((await asked()).selected).not.toBeNull();

  expect(rig.sent()).toEqual([]);
  expect(rig.routers.map(({ host }) => host.desk.booked)).toEqual([0, 0]);
});
