import { actorId, LegFailed, Queued } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { decodeRouter } from "../src/index.ts";
import { model, PlayedCluster, registered, routeDecode } from "./support/played-cluster.ts";

const settings = {
  routerMode: "least-loaded",
  queueLimit: 8,
  bookingLimit: 100,
  bookingGraceMs: 2_000,
  refusalMs: 1_000,
} as const;
const one = { capacity: { maxSequences: 1 } };
const staged = { handoff: new Uint8Array([1]) };

async function serving(routers: number, ...workers: readonly ReturnType<typeof registered>[]) {
  const cluster = new PlayedCluster();
  const running = Array.from({ length: routers }, (_, index) =>
    cluster.memory.start(decodeRouter, settings, { id: `r-${index + 1}` }),
  );
  const notices: string[] = [];
  const bus = cluster.memory.bus("ear");
  const { subjects } = cluster.memory;
  const frontend = actorId("f-1");
  bus.subscribe(subjects.toFrontend("queued", model, frontend), ({ payload }) => {
    notices.push(`queued ${Queued.decode(payload).requestId}`);
  });
  bus.subscribe(subjects.toFrontend("failed", model, frontend), ({ payload }) => {
    const { requestId, error } = LegFailed.decode(payload);
    notices.push(`failed ${requestId} ${error.code}`);
  });
  if (workers.length > 0) cluster.join(...workers);
  await cluster.pass(300);
  const gauge = async (name: "bookings" | "queued") => {
    const text = await cluster.memory.metrics.text();
    const line = new RegExp(`baton_router_${name}\\{.*role="decode"\\} (\\d+)`, "g");
    return [...text.matchAll(line)].map(([, value]) => Number(value));
  };
  return { cluster, running, notices, gauge };
}

describe("a DecodeRouter", () => {
  it("serves decode and aggregated workers by the same path", async () => {
    const { cluster } = await serving(1, registered("d-1"), registered("a-1"));

    cluster.ask(routeDecode("r1", staged));
    cluster.ask(routeDecode("r2"));
    cluster.ask(routeDecode("r3", { pool: "aggregated" }));
    await cluster.pass();

    expect(cluster.commands).toEqual(
      expect.arrayContaining([
        { id: "r1", verb: "decode", worker: "d-1" },
        { id: "r2", verb: "generate", worker: "d-1" },
        { id: "r3", verb: "generate", worker: "a-1" },
      ]),
    );
  });

  it("is in no queue group while no worker generates", async () => {
    const { cluster } = await serving(1, registered("p-1"));

    cluster.ask(routeDecode("r1"));
    await cluster.pass();
    expect(cluster.bounced).toEqual(["r1"]);

    cluster.join(registered("d-1"));
    await cluster.pass();
    cluster.ask(routeDecode("r2"));
    await cluster.pass();
    expect(cluster.commands).toHaveLength(1);
  });

  it("refuses what waits when the last worker that generates goes", async () => {
    const { cluster, notices } = await serving(1, registered("d-1", one));
    for (const id of ["r1", "r2"]) cluster.ask(routeDecode(id));
    await cluster.pass();

    cluster.leave("d-1");
    await cluster.pass();
    cluster.ask(routeDecode("r3"));
    await cluster.pass();

    expect(notices).toEqual(["queued r2", "failed r2 not_ready"]);
    expect(cluster.bounced).toEqual(["r3"]);
  });

  it("lets go of a model that is gone, and takes it up again", async () => {
    const { cluster, gauge } = await serving(1, registered("d-1"));
    cluster.ask(routeDecode("r1"));
    await cluster.pass();
    expect(await gauge("bookings")).toEqual([1]);

    cluster.leave("d-1");
    await cluster.pass(100);
    expect(await gauge("bookings")).toEqual([0]);

    cluster.join(registered("d-2"));
    await cluster.pass();
    cluster.ask(routeDecode("r2"));
    await cluster.pass();
    expect(cluster.commands.at(-1)).toMatchObject({ id: "r2", worker: "d-2" });
  });
});

describe("several DecodeRouters", () => {
  it("know each other's bookings, and hold none in the end", async () => {
    const { cluster, gauge } = await serving(3, registered("d-1"), registered("d-2"));
    const ids = Array.from({ length: 12 }, (_, index) => `r-${index}`);
    for (const id of ids) {
      cluster.ask(routeDecode(id));
      await cluster.pass();
    }

    expect(await gauge("bookings")).toEqual([12, 12, 12]);
    const at = (id: string) => cluster.commands.filter(({ worker }) => worker === id);
    expect([at("d-1").length, at("d-2").length]).toEqual([6, 6]);

    for (const id of ["d-1", "d-2"]) {
      cluster.report(id, { sequence: 1, endedBookings: at(id).map((command) => command.id) });
    }
    await cluster.pass();
    expect([await gauge("bookings"), await gauge("queued")]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });

  it("bring a newcomer up to date by the workers' own reports", async () => {
    const { cluster, gauge } = await serving(1, registered("d-1"));
    cluster.ask(routeDecode("r1"));
    await cluster.pass();

    cluster.memory.start(decodeRouter, settings, { id: "r-9" });
    await cluster.pass(300);
    cluster.report("d-1", { sequence: 1, liveBookings: [routeDecode("r1").requestId] });
    await cluster.pass();
    expect(await gauge("bookings")).toEqual([1, 1]);

    cluster.report("d-1", { sequence: 2, endedBookings: [routeDecode("r1").requestId] });
    await cluster.pass();
    expect(await gauge("bookings")).toEqual([0, 0]);
  });

  it("serve on when one of them drains", async () => {
    const { cluster, running, notices } = await serving(2, registered("d-1"));

    const drained = running[0]?.drain();
    await cluster.pass();
    await drained;
    for (const id of ["r1", "r2", "r3", "r4"]) cluster.ask(routeDecode(id));
    await cluster.pass();

    expect([cluster.commands.length, cluster.bounced, notices]).toEqual([4, [], []]);
  });
});
