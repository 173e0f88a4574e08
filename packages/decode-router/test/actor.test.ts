import { Decode, Generate, RouteDecode, type WorkerRegistration } from "@baton/protocol";
import { PlayedCluster, registrationOf, routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { decodeRouter } from "../src/index.ts";

const settings = {
  routerMode: "least-loaded",
  queueLimit: 8,
  bookingLimit: 100,
  bookingGraceMs: 2_000,
  refusalMs: 1_000,
} as const;
const one = { capacity: { maxSequences: 1 } };
const staged = { handoff: new Uint8Array([1]) };

async function serving(routers: number, ...workers: readonly WorkerRegistration[]) {
  const cluster = new PlayedCluster({
    role: "decode-router",
    request: RouteDecode,
    commands: { generate: Generate, decode: Decode },
  });
  const running = Array.from({ length: routers }, (_, index) =>
    cluster.memory.start(decodeRouter, settings, { id: `r-${index + 1}` }),
  );
  if (workers.length > 0) cluster.join(...workers);
  await cluster.pass(300);
  const gauge = async (name: "bookings" | "queued") => {
    const text = await cluster.memory.metrics.text();
    const line = new RegExp(`baton_router_${name}\\{.*role="decode"\\} (\\d+)`, "g");
    return [...text.matchAll(line)].map(([, value]) => Number(value));
  };
  return { cluster, running, gauge };
}

describe("a DecodeRouter", () => {
  it("serves decode and aggregated workers by the same path", async () => {
    const { cluster } = await serving(1, registrationOf("d-1"), registrationOf("a-1"));

    cluster.ask(routeDecode("r1", staged));
    cluster.ask(routeDecode("r2"));
    cluster.ask(routeDecode("r3", { pool: "aggregated" }));
    await cluster.pass();

    expect(cluster.commands.map(({ id, verb, worker }) => [id, verb, worker])).toEqual(
      expect.arrayContaining([
        ["r1", "decode", "d-1"],
        ["r2", "generate", "d-1"],
        ["r3", "generate", "a-1"],
      ]),
    );
  });

  it("is in no queue group while no worker generates", async () => {
    const { cluster } = await serving(1, registrationOf("p-1"));

    cluster.ask(routeDecode("r1"));
    await cluster.pass();
    expect(cluster.bounced).toEqual(["r1"]);

    cluster.join(registrationOf("d-1"));
    await cluster.pass();
    cluster.ask(routeDecode("r2"));
    await cluster.pass();
    expect(cluster.commands).toHaveLength(1);
  });

  it("refuses what waits when the last worker that generates goes", async () => {
    const { cluster } = await serving(1, registrationOf("d-1", one));
    for (const id of ["r1", "r2"]) cluster.ask(routeDecode(id));
    await cluster.pass();

    cluster.leave("d-1");
    await cluster.pass();
    cluster.ask(routeDecode("r3"));
    await cluster.pass();

    expect(cluster.notices).toEqual(["queued r2", "failed r2 not_ready"]);
    expect(cluster.bounced).toEqual(["r3"]);
  });

  it("lets go of a model that is gone, and takes it up again", async () => {
    const { cluster, gauge } = await serving(1, registrationOf("d-1"));
    cluster.ask(routeDecode("r1"));
    await cluster.pass();
    expect(await gauge("bookings")).toEqual([1]);

    cluster.leave("d-1");
    await cluster.pass(100);
    expect(await gauge("bookings")).toEqual([0]);

    cluster.join(registrationOf("d-2"));
    await cluster.pass();
    cluster.ask(routeDecode("r2"));
    await cluster.pass();
    expect(cluster.commands.at(-1)).toMatchObject({ id: "r2", worker: "d-2" });
  });
});

describe("several DecodeRouters", () => {
  it("know each other's bookings, and hold none in the end", async () => {
    const { cluster, gauge } = await serving(3, registrationOf("d-1"), registrationOf("d-2"));
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
    const { cluster, gauge } = await serving(1, registrationOf("d-1"));
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
    const { cluster, running } = await serving(2, registrationOf("d-1"));

    const drained = running[0]?.drain();
    await cluster.pass();
    await drained;
    for (const id of ["r1", "r2", "r3", "r4"]) cluster.ask(routeDecode(id));
    await cluster.pass();

    expect([cluster.commands.length, cluster.bounced, cluster.notices]).toEqual([4, [], []]);
  });
});
