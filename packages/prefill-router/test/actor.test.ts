import { actorId, modelName, Prefill, RouteExplained, RoutePrefill } from "@baton/protocol";
import { PlayedCluster, registrationOf, routePrefill, testModel } from "@baton/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prefillRouter } from "../src/index.ts";

const settings = {
  routerMode: "least-loaded",
  queueLimit: 8,
  bookingLimit: 100,
  bookingGraceMs: 2_000,
  refusalMs: 1_000,
} as const;
const prefill = registrationOf("p-1", { capacity: { maxSequences: 1 } });
const decode = registrationOf("d-1");

const playedCluster = () =>
  new PlayedCluster({
    role: "prefill-router",
    request: RoutePrefill,
    commands: { prefill: Prefill },
  });

function startRouter(cluster: ReturnType<typeof playedCluster>, id: string) {
  const running = cluster.memory.start(prefillRouter, settings, { id });
  return { running, activation: () => running.heartbeat().activation?.[0]?.state };
}

/** Two routers, listening, with nobody to route to. */
async function twoRouters() {
  const cluster = playedCluster();
  const routers = [startRouter(cluster, "r-1"), startRouter(cluster, "r-2")];
  await cluster.pass(300);
  return { cluster, routers, activations: () => routers.map(({ activation }) => activation()) };
}

/** One router with a pair of workers, serving. */
async function serving() {
  const cluster = playedCluster();
  const router = startRouter(cluster, "r-1");
  cluster.join(prefill, decode);
  await cluster.pass(300);
  return { cluster, router };
}

describe("the activation of a prefill route", () => {
  it.each([
    { order: "prefill first", first: prefill, second: decode },
    { order: "decode first", first: decode, second: prefill },
  ])("comes at both routers once the pair stands: $order", async ({ first, second }) => {
    const { cluster, activations } = await twoRouters();

    cluster.join(first);
    await cluster.pass();
    cluster.ask(routePrefill("early"));
    await cluster.pass();
    expect([activations(), cluster.bounced]).toEqual([["none", "none"], ["early"]]);

    cluster.join(second);
    await cluster.pass();
    cluster.ask(routePrefill("late"));
    await cluster.pass();

    expect(activations()).toEqual(["active", "active"]);
    expect(cluster.commands.map(({ id, worker }) => [id, worker])).toEqual([["late", "p-1"]]);
  });

  it("goes at once with the last prefill worker, and is back at once with the next", async () => {
    const { cluster, activations } = await twoRouters();
    cluster.join(prefill, decode);
    await cluster.pass();

    cluster.leave("p-1");
    await cluster.pass(5);
    cluster.ask(routePrefill("between"));
    await cluster.pass();
    expect([activations(), cluster.bounced]).toEqual([["unavailable", "unavailable"], ["between"]]);

    cluster.join(registrationOf("p-2"));
    await cluster.pass(5);
    expect(activations()).toEqual(["active", "active"]);
  });

  it("notices a prefill worker that dies without a word", async () => {
    const { cluster, activations } = await twoRouters();
    cluster.join(prefill, decode);
    await cluster.pass(300);

    cluster.kill("p-1");
    await cluster.pass(1_000);

    expect(activations()).toEqual(["unavailable", "unavailable"]);
  });

  it("is held back by a second set of either role, and comes when it goes", async () => {
    const { cluster, activations } = await twoRouters();
    cluster.join(prefill, decode, registrationOf("p-9", { set: "other" }));
    await cluster.pass();
    expect(activations()).toEqual(["none", "none"]);

    cluster.leave("p-9");
    await cluster.pass();
    expect(activations()).toEqual(["active", "active"]);

    cluster.join(registrationOf("d-9", { set: "other" }));
    await cluster.pass();
    expect(activations()).toEqual(["unavailable", "unavailable"]);
  });

  it("starts anew for a model that the catalog forgot and names again", async () => {
    const { cluster, activations } = await twoRouters();
    cluster.join(prefill, decode);
    await cluster.pass();

    cluster.leave("p-1", "d-1");
    await cluster.pass();
    expect(activations()).toEqual([undefined, undefined]);

    cluster.join(prefill, decode);
    await cluster.pass();
    cluster.ask(routePrefill("r1"));
    await cluster.pass();
    expect(activations()).toEqual(["active", "active"]);
    expect(cluster.commands).toHaveLength(1);
  });

  it("ends the same at both routers, whoever came and went in whatever order", async () => {
    const workers = ["p-1", "p-2", "d-1", "d-2", "p-9", "d-9", "a-1"];
    const moves = fc.array(
      fc.record({ id: fc.constantFrom(...workers), ms: fc.constantFrom(0, 1, 3, 20) }),
      { minLength: 1, maxLength: 14 },
    );
    await fc.assert(
      fc.asyncProperty(moves, async (taken) => {
        const { cluster, activations } = await twoRouters();
        const present = new Set<string>();
        for (const { id, ms } of taken) {
          if (present.delete(id)) cluster.leave(id);
          else {
            present.add(id);
            cluster.join(registrationOf(id, id.endsWith("9") ? { set: "other" } : {}));
          }
          await cluster.pass(ms);
        }
        await cluster.pass(50);

        const sets = (role: string) =>
          new Set([...present].filter((id) => id[0] === role).map((id) => id.endsWith("9"))).size;
        const isTarget = sets("p") === 1 && sets("d") === 1;
        // Without a target one router may have seen one for a moment, and say `unavailable`, and the other not.
        const isIdle = (state: string | undefined) => state !== "active" && state !== "pending";
        for (const state of activations()) {
          expect(isTarget ? state === "active" : isIdle(state), state).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  }, 30_000);
});

describe("a PrefillRouter", () => {
  it("passes the work on unopened, and asks the decode worker for nothing without a domain", async () => {
    const { cluster } = await serving();

    cluster.ask(routePrefill("r1", { traceparent: "00-1" }));
    await cluster.pass();

    expect(cluster.commands[0]?.command).toMatchObject({
      requestId: "r1",
      frontendId: "f-1",
      stream: 7,
      generation: prefill.generation,
      dpRank: 0,
      work: new Uint8Array([1, 2, 3]),
      traceparent: "00-1",
      decodeConstraints: null,
    });
  });

  it("lets requests wait for room, and refuses them when the prefill workers go", async () => {
    const { cluster } = await serving();
    for (const id of ["r1", "r2", "r3"]) cluster.ask(routePrefill(id));
    await cluster.pass();
    expect(cluster.notices).toEqual(["queued r2", "queued r3"]);

    cluster.report("p-1", { sequence: 1, endedBookings: [routePrefill("r1").requestId] });
    await cluster.pass();
    expect(cluster.commands.map(({ id }) => id)).toEqual(["r1", "r2"]);

    cluster.leave("p-1");
    await cluster.pass();
    expect(cluster.notices.slice(2)).toEqual(["failed r3 not_ready"]);
  });

  it("binds a session anew when no decode worker can be reached from where it was", async () => {
    const cluster = playedCluster();
    const flags = { ...settings, sessionAffinityTtlSecs: 60 };
    cluster.memory.start(prefillRouter, flags, { id: "r-1" });
    const inRack = (id: string, rack: string, stays = false) =>
      registrationOf(id, {
        topology: { rack },
        ...(stays
          ? { kvTransfer: { domain: "rack", enforcement: "required", preferredWeight: null } }
          : {}),
      });
    cluster.join(inRack("p-1", "a", true), inRack("d-1", "a"));
    await cluster.pass(300);
    const inSession = (id: string) => routePrefill(id, { rules: { session: { id: "s" } } });
    cluster.ask(inSession("r1"));
    await cluster.pass();

    cluster.join(inRack("p-2", "b", true), inRack("d-2", "b"));
    cluster.leave("d-1");
    await cluster.pass();
    for (const id of ["r2", "r3"]) cluster.ask(inSession(id));
    await cluster.pass();

    expect(cluster.commands.map(({ id, worker }) => [id, worker])).toEqual([
      ["r1", "p-1"],
      ["r2", "p-2"],
      ["r3", "p-2"],
    ]);
    expect(cluster.notices).toEqual([]);
  });

  it("says where a request would go and what it asks of the decode worker, and who cannot be reached from", async () => {
    const cluster = playedCluster();
    startRouter(cluster, "r-1");
    const inRack = (
      id: string,
      rack: string,
      kvTransfer: Parameters<typeof registrationOf>[1] = {},
    ) => registrationOf(id, { topology: { rack }, ...kvTransfer });
    const stays = {
      kvTransfer: { domain: "rack", enforcement: "required", preferredWeight: null },
    } as const;
    cluster.join(inRack("p-1", "a", stays), inRack("p-2", "b", stays), inRack("d-1", "b"));
    await cluster.pass(300);

    const asked = cluster.memory
      .bus("f-9")
      .request(
        cluster.memory.subjects.explainRoute("prefill-router", modelName(testModel)),
        RoutePrefill.encode(routePrefill("r1")),
        { timeoutMs: 1_000 },
      );
    await cluster.pass();
    const explained = RouteExplained.decode(await asked);

    expect(explained).toMatchObject({
      selected: { workerId: "p-2" },
      decodeConstraints: { requiredTaints: ["baton.topology/rack=b"] },
      candidates: [
        { workerId: "p-2", eligible: true },
        { workerId: "p-1", eligible: false, why: "filtered" },
      ],
    });
    expect([cluster.commands, cluster.notices]).toEqual([[], []]);
  });

  it("drains: leaves the group, refuses what waits, and stops", async () => {
    const { cluster, router } = await serving();
    for (const id of ["r1", "r2"]) cluster.ask(routePrefill(id));
    await cluster.pass();

    const drained = router.running.drain();
    cluster.memory.clock.setTimer(0, () => cluster.ask(routePrefill("r3")));
    await cluster.pass();
    await drained;

    expect(router.running.state).toBe("stopped");
    expect(cluster.notices).toEqual(["queued r2", "failed r2 draining"]);
    expect(cluster.bounced).toEqual(["r3"]);
  });

  it("takes no requests before it knows a complete catalog", async () => {
    const cluster = playedCluster();
    cluster.memory.network.disconnect(actorId("disc"));
    const router = startRouter(cluster, "r-1");
    await cluster.pass(500);

    expect([router.running.state, router.running.why]).toEqual([
      "syncing",
      "no complete catalog yet",
    ]);

    cluster.memory.network.reconnect(actorId("disc"));
    cluster.join(prefill, decode);
    await cluster.pass(20);
    expect([router.running.state, router.activation()]).toEqual(["ready", "active"]);
  });

  it("serves on after the bus was gone", async () => {
    const { cluster, router } = await serving();

    cluster.memory.network.stopServer();
    await cluster.pass(3_000);
    expect([router.running.state, router.activation()]).toEqual(["degraded", "active"]);

    cluster.memory.network.startServer();
    await cluster.pass(300);
    cluster.ask(routePrefill("r1"));
    await cluster.pass();
    expect(cluster.commands.map(({ id }) => id)).toEqual(["r1"]);
  });
});
