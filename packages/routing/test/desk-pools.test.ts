import { actorId, type Booking, type WorkerType } from "@baton/protocol";
import { loadReport, memoryCluster, testGeneration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { DeskPools } from "../src/desk-pools.ts";
import { routerMetrics } from "../src/router-metrics.ts";
import { bookingOn, ids } from "./support/bookings.ts";
import { limits, loadedPolicy, model, noneHeld, plainPolicy } from "./support/desk-rig.ts";
import { FakeFeeds } from "./support/fake-feeds.ts";
import { FakeView, workerView } from "./support/fake-view.ts";

const d1 = workerView("d-1");
const a1 = workerView("a-1", { workerType: "aggregated" });

function poolsOver(
  workers = [d1, a1],
  wanted: readonly WorkerType[] = ["aggregated"],
  loaded = loadedPolicy({ routerMode: "kv", sessionAffinityTtlSecs: 10 }),
) {
  const cluster = memoryCluster();
  const ctx = cluster.context({ role: "decode-router", id: "r-1" });
  const view = new FakeView(workers);
  const feeds = new FakeFeeds();
  const followed: number[] = [];
  const pools = new DeskPools(
    { model, limits },
    {
      ctx,
      view,
      loaded,
      openFeed: feeds.open,
      metrics: routerMetrics(ctx.metrics, "decode", noneHeld),
      policy: {
        ...plainPolicy,
        usesKvEvents: (workerType) => wanted.includes(workerType),
        follow: (all) => void followed.push(all.length),
      },
    },
  );
  const subjects: string[] = [];
  cluster.network.observe(({ subject }) => void subjects.push(subject));
  return { cluster, ctx, view, feeds, followed, pools, subjects };
}

const second: Partial<Booking> = { bookingId: ids("r8")[0] as Booking["bookingId"] };

describe("the pools of a desk", () => {
  it("are one for each type that its role chooses, each with its own workers", () => {
    const { pools, followed } = poolsOver();

    expect(pools.of("decode").worker(d1.id)).toBe(d1);
    expect(pools.of("decode").worker(a1.id)).toBeUndefined();
    expect(pools.of("aggregated").worker(a1.id)).toBe(a1);
    expect(() => pools.of("prefill")).toThrow(expect.objectContaining({ code: "internal" }));
    expect(followed).toEqual([2]);
  });

  it("take over workers when they are told of them, and not before", () => {
    const { pools, view } = poolsOver();
    pools.of("decode");
    view.set(workerView("d-2"));
    expect(pools.of("decode").core.candidates("decode")).toHaveLength(1);

    pools.workersChanged();

    expect(pools.of("decode").core.candidates("decode")).toHaveLength(2);
  });

  it("follow the feed only where the role wants it", () => {
    const { pools, feeds } = poolsOver();
    pools.workersChanged();
    expect(feeds.running).toBe(1);

    pools.close();

    expect(feeds.running).toBe(0);
  });
});

describe("bookings in the pools of a desk", () => {
  it("are in the pool of their worker, whoever made them", () => {
    const { pools } = poolsOver();

    pools.hear(bookingOn("d-1"));
    pools.hear(bookingOn("a-1", second));
    pools.hear(bookingOn("a-1", { ...second, workerId: actorId("x-9") }));

    expect([pools.booked, pools.of("decode").core.booked]).toEqual([2, 1]);
    expect(ids("r9", "r8", "r7").map((id) => pools.isBooked(id))).toEqual([true, true, false]);
  });

  it("end by request, by worker and by Frontend, wherever they are", () => {
    const { pools, view } = poolsOver();
    const hearBoth = () => {
      pools.hear(bookingOn("d-1"));
      pools.hear(bookingOn("a-1", second));
    };
    hearBoth();
    for (const id of ids("r9", "r8")) pools.end(id);
    expect(pools.booked).toBe(0);

    hearBoth();
    pools.dropFrontend(actorId("f-1"), 1);
    expect(pools.booked).toBe(0);

    hearBoth();
    pools.dropWorker(view.lose("a-1"));
    expect(pools.booked).toBe(1);
  });

  it("end by a worker's word, which also says whether there is room", () => {
    const { pools } = poolsOver();
    pools.hear(bookingOn("d-1"));
    pools.hear(bookingOn("a-1", second));

    const other = pools.reported(a1, loadReport("a-1", { endedBookings: ids("r9") }));
    expect(other).toEqual({ ended: ids("r9"), hasRoom: false });
    expect(pools.booked).toBe(2);
    const own = pools.reported(d1, loadReport("d-1", { endedBookings: ids("r9", "r7") }));

    expect(own).toEqual({ ended: ids("r9", "r7"), hasRoom: true });
    const prefill = workerView("p-1", { workerType: "prefill" });
    expect(pools.reported(prefill, loadReport("p-1", { endedBookings: ids("r8") }))).toEqual({
      ended: [],
      hasRoom: false,
    });
  });

  it("leave out a worker that refuses until the time is over, or its next life begins", () => {
    const { pools, view } = poolsOver();
    const until = () => pools.of("decode").core.candidates("decode")[0]?.refusesUntilMs;
    pools.refuse(d1.id, 5_000);
    pools.workersChanged();
    expect(until()).toBe(5_000);

    pools.dropWorker(view.lose("d-1"));
    view.set(workerView("d-1", { generation: testGeneration + 1 }));
    pools.workersChanged();

    expect(until()).toBe(0);
  });
});

describe("sessions in the pools of a desk", () => {
  const bind = ({ ctx, pools }: ReturnType<typeof poolsOver>, name = "r9") => {
    const pool = pools.of("decode");
    const [id] = ids(name);
    if (id === undefined) throw new Error("no id");
    const nowMs = ctx.clock.nowMs();
    pool.sessions.ask(id, { id: "s" }, { nowMs }, pool.core.candidates("decode"));
    pool.core.book({ ...bookingOn("d-1", { bookingId: id }), atMs: nowMs });
    pools.commit(pool, id, { workerId: d1.id, generation: d1.generation, dpRank: 0 });
    return id;
  };
  const holdsNone = async ({ cluster, pools }: ReturnType<typeof poolsOver>) => {
    await cluster.clock.advanceBy(30_000);
    pools.sweep();
    return pools.sessions === 0;
  };

  it.each<{ by: string; end(rig: ReturnType<typeof poolsOver>): void }>([
    {
      by: "a worker's word",
      end: ({ pools }) => void pools.reported(d1, loadReport("d-1", { endedBookings: ids("r9") })),
    },
    { by: "its cancel", end: ({ pools }) => pools.end(bookingOn("d-1").bookingId) },
    { by: "its leaving", end: ({ pools }) => pools.leave(bookingOn("d-1").bookingId) },
    { by: "the loss of its Frontend", end: ({ pools }) => pools.dropFrontend(actorId("f-1"), 1) },
    { by: "the loss of its worker", end: ({ pools, view }) => pools.dropWorker(view.lose("d-1")) },
    {
      by: "a report that does not name it",
      end: ({ pools }) => void pools.reported(d1, loadReport("d-1", { liveBookings: [] })),
    },
    {
      by: "another way of counting",
      end: ({ pools }) =>
        pools.setPolicy(
          loadedPolicy({ routerMode: "kv", sessionAffinityTtlSecs: 10, trackOutputBlocks: true }),
        ),
    },
  ])("are let go of at a request's end by $by", async ({ end }) => {
    const rig = poolsOver();
    bind(rig);
    expect(await holdsNone(rig)).toBe(false);

    end(rig);

    expect(await holdsNone(rig)).toBe(true);
  });

  it("are let go of when nobody has spoken of their request for five minutes", async () => {
    const rig = poolsOver();
    bind(rig);
    await rig.cluster.clock.advanceBy(300_000);
    rig.pools.sweep();

    expect(await holdsNone(rig)).toBe(true);
  });

  it("are told to nobody while the bus is gone", () => {
    const rig = poolsOver();
    rig.cluster.network.disconnect(actorId("r-1"));

    expect(() => rig.pools.end(bind(rig))).not.toThrow();

    expect(rig.subjects).toEqual([]);
    expect(rig.pools.sessions).toBe(1);
  });
});
