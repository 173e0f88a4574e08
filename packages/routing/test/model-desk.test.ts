import { actorId, ServingError } from "@baton/protocol";
import { loadReport, routeDecode, testGeneration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { bookingOn, ids } from "./support/bookings.ts";
import { deskRig, model, stagedRequest } from "./support/desk-rig.ts";
import { workerView } from "./support/fake-view.ts";

const one = { capacity: { maxSequences: 1 } };
const pinnedTo = (id: string) => ({ rules: { decodeWorkerId: actorId(id) } });

describe("a desk with room", () => {
  it("books, sends the work and tells the Frontend, in this order", async () => {
    const { desk, heard } = deskRig([workerView("w-1")]);

    desk.take(routeDecode("r1"));

    expect(await heard()).toEqual([
      "booked r1 w-1",
      "generate w-1 r1",
      "dispatched r1 w-1 after 0",
    ]);
    expect(desk).toMatchObject({ booked: 1, queued: 0 });
  });

  it("counts its bookings at once, so that two requests go to two workers", async () => {
    const { desk, heard } = deskRig([workerView("w-1"), workerView("w-2")]);

    for (const id of ["r1", "r2"]) desk.take(routeDecode(id));

    const sentTo = (await heard()).filter((line) => line.startsWith("generate"));
    expect(sentTo.map((line) => line.split(" ")[1]).sort()).toEqual(["w-1", "w-2"]);
  });

  it("drops a request that it has dispatched already", async () => {
    const { desk, heard } = deskRig([workerView("w-1")]);
    desk.take(routeDecode("r1"));
    await heard();

    desk.take(routeDecode("r1"));

    expect(await heard()).toEqual([]);
  });

  it("refuses what its policy refuses, or fails at, and keeps no booking of it", async () => {
    const policy = {
      command: () => {
        throw new ServingError("no_worker_available");
      },
    };
    const refusing = deskRig([workerView("w-1")], { policy });
    const broken = deskRig([workerView("w-1")], {
      policy: {
        rules: () => {
          throw new TypeError("a bug");
        },
      },
    });

    refusing.desk.take(routeDecode("r1"));
    broken.desk.take(routeDecode("r2"));

    expect(await refusing.heard()).toEqual(["failed r1 no_worker_available"]);
    expect(await broken.heard()).toEqual(["failed r2 internal"]);
    expect([refusing.desk.booked, broken.desk.booked]).toEqual([0, 0]);
  });

  it("refuses what is too large for the bus before anybody hears of a booking", async () => {
    const work = { byteLength: 65 * 1024 * 1024 } as Uint8Array;
    const policy = { command: () => ({ verb: "generate", payload: work }) as const };
    const { desk, heard } = deskRig([workerView("w-1")], { policy });

    desk.take(routeDecode("r1"));

    expect(await heard()).toEqual(["failed r1 payload_too_large"]);
  });

  it("refuses what finds no place in the table of bookings", async () => {
    const { desk, heard } = deskRig([workerView("w-1")], { limits: { bookingLimit: 1 } });

    for (const id of ["r1", "r2"]) desk.take(routeDecode(id));

    expect((await heard()).at(-1)).toBe("failed r2 overloaded");
    expect(desk.booked).toBe(1);
  });
});

describe("a desk without workers that will do", () => {
  it.each([
    { what: "there are none", workers: [], request: routeDecode("r1"), code: "not_ready" },
    {
      what: "all of them drain",
      workers: [workerView("w-1", { state: "draining" })],
      request: routeDecode("r1"),
      code: "not_ready",
    },
    {
      what: "none has a required taint",
      workers: [workerView("w-1")],
      request: routeDecode("r1", {
        rules: { constraints: { requiredTaints: ["gpu"], preferredTaints: {} } },
      }),
      code: "no_worker_available",
    },
    {
      what: "the pinned one does not exist",
      workers: [workerView("w-1")],
      request: routeDecode("r1", pinnedTo("w-9")),
      code: "unknown_worker",
    },
    {
      what: "they are of another type",
      workers: [workerView("w-1")],
      request: routeDecode("r1", { pool: "aggregated" }),
      code: "not_ready",
    },
  ])("refuses with $code when $what", async ({ workers, request, code }) => {
    const { desk, heard } = deskRig(workers);

    desk.take(request);

    expect(await heard()).toEqual([`failed r1 ${code}`]);
  });
});

describe("a desk whose workers are at their limits", () => {
  it("lets requests wait, and dispatches the first of them when a worker reports an end", async () => {
    const { cluster, desk, heard } = deskRig([workerView("w-1", one)]);
    for (const id of ["r1", "r2", "r3"]) desk.take(routeDecode(id));
    expect((await heard()).slice(3)).toEqual(["queued r2", "queued r3"]);

    await cluster.clock.advanceBy(40);
    desk.reported(workerView("w-1"), loadReport("w-1", { endedBookings: ids("r1") }));

    expect(await heard()).toEqual([
      "booked r2 w-1",
      "generate w-1 r2",
      "dispatched r2 w-1 after 40",
    ]);
    expect(desk).toMatchObject({ booked: 1, queued: 1 });
  });

  it("refuses what comes to a full queue, and whose time is over", async () => {
    const { cluster, desk, heard } = deskRig([workerView("w-1", one)], {
      limits: { queueLimit: 1 },
    });
    desk.take(routeDecode("r1"));
    desk.take(routeDecode("r2", { timeoutMs: 100 }));
    desk.take(routeDecode("r3"));
    desk.take(routeDecode("r4", { timeoutMs: 0 }));
    expect((await heard()).slice(3)).toEqual([
      "queued r2",
      "failed r3 overloaded",
      "failed r4 deadline_exceeded",
    ]);

    await cluster.clock.advanceBy(99);
    desk.sweep();
    expect(await heard()).toEqual([]);
    await cluster.clock.advanceBy(1);
    desk.sweep();

    expect(await heard()).toEqual(["failed r2 deadline_exceeded"]);
  });

  it("never lets a staged request wait behind others", async () => {
    const { desk, heard } = deskRig([workerView("w-1", one)]);
    for (const id of ["r1", "r2"]) desk.take(routeDecode(id));
    desk.take(stagedRequest("s1"));
    await heard();

    desk.reported(workerView("w-1"), loadReport("w-1", { endedBookings: ids("r1") }));

    expect(await heard()).toEqual(["booked s1 w-1", "decode w-1 s1", "dispatched s1 w-1 after 0"]);
  });

  it("gives a staged request room at once where others cannot go", async () => {
    const racks = ["r1", "r2"].map((rack, index) =>
      workerView(`w-${index + 1}`, { ...one, topology: { rack } }),
    );
    const inRack = (rack: string) => ({
      rules: {
        constraints: { requiredTaints: [`baton.topology/rack=${rack}`], preferredTaints: {} },
      },
    });
    const { desk, heard } = deskRig(racks);
    desk.take(stagedRequest("s1", inRack("r1")));
    desk.take(stagedRequest("s2", inRack("r1")));
    await heard();

    desk.take(stagedRequest("s3", inRack("r2")));

    expect(await heard()).toEqual(["booked s3 w-2", "decode w-2 s3", "dispatched s3 w-2 after 0"]);
  });

  it("holds nobody up for a request that is pinned to a busy worker", async () => {
    const { desk, heard } = deskRig([workerView("w-1", one), workerView("w-2", one)]);
    desk.take(routeDecode("r1", pinnedTo("w-1")));
    desk.take(routeDecode("r2", pinnedTo("w-1")));
    desk.take(routeDecode("r3"));
    desk.take(routeDecode("r4"));
    expect((await heard()).slice(3)).toEqual([
      "queued r2",
      "booked r3 w-2",
      "generate w-2 r3",
      "dispatched r3 w-2 after 0",
      "queued r4",
    ]);

    desk.reported(workerView("w-2"), loadReport("w-2", { endedBookings: ids("r3") }));
    expect(await heard()).toContain("generate w-2 r4");

    desk.reported(workerView("w-1"), loadReport("w-1", { endedBookings: ids("r1") }));
    expect(await heard()).toContain("generate w-1 r2");
  });

  it("sends what waits to a worker that joins", async () => {
    const { desk, view, heard } = deskRig([workerView("w-1", one)]);
    for (const id of ["r1", "r2"]) desk.take(routeDecode(id));
    await heard();

    view.set(workerView("w-2"));
    desk.workersChanged();

    expect(await heard()).toContain("booked r2 w-2");
  });
});

describe("a desk and the ends of requests", () => {
  it("drops a request whose cancel has overtaken it, for five seconds", async () => {
    const { cluster, desk, heard } = deskRig([workerView("w-1")]);
    desk.cancel(ids("r1", "r2"));

    desk.take(routeDecode("r1"));
    expect(await heard()).toEqual([]);

    await cluster.clock.advanceBy(5_000);
    desk.take(routeDecode("r2"));
    expect(await heard()).toContain("generate w-1 r2");
  });

  it("takes a cancelled request out of queue and bookings, and uses the room", async () => {
    const { desk, heard } = deskRig([workerView("w-1", one)]);
    for (const id of ["r1", "r2", "r3"]) desk.take(routeDecode(id));
    await heard();

    desk.cancel(ids("r2", "r1"));

    expect(await heard()).toEqual([
      "booked r3 w-1",
      "generate w-1 r3",
      "dispatched r3 w-1 after 0",
    ]);
    expect(desk).toMatchObject({ booked: 1, queued: 0 });
  });

  it("ignores a booking of a request that has ended or was cancelled before", () => {
    const { desk } = deskRig([workerView("w-1")]);

    desk.reported(workerView("w-1"), loadReport("w-1", { endedBookings: ids("r9") }));
    desk.hear(bookingOn("w-1"));
    desk.cancel(ids("r8"));
    desk.hear(bookingOn("w-1", { bookingId: routeDecode("r8").requestId }));

    expect(desk.booked).toBe(0);
  });

  it("does not end a booking on one worker by the word of another", () => {
    const { desk } = deskRig([workerView("w-1"), workerView("w-2")]);
    desk.hear(bookingOn("w-1"));

    desk.reported(workerView("w-2"), loadReport("w-2", { endedBookings: ids("r9") }));
    expect(desk.booked).toBe(1);

    desk.reported(workerView("w-1"), loadReport("w-1", { endedBookings: ids("r9") }));
    expect(desk.booked).toBe(0);
  });

  it("hears bookings only on workers that live in that generation", () => {
    const { desk, view } = deskRig([workerView("w-1"), workerView("w-2")]);
    view.lose("w-2");

    desk.hear(bookingOn("w-1", { generation: testGeneration - 1 }));
    desk.hear(bookingOn("w-2"));
    desk.hear(bookingOn("w-3"));

    expect(desk.booked).toBe(0);
  });

  it("learns from a worker what it runs, and mends what went by unheard", async () => {
    const { cluster, desk } = deskRig([workerView("w-1")]);
    desk.take(routeDecode("r1"));

    desk.reported(workerView("w-1"), loadReport("w-1", { liveBookings: ids("r5", "r6") }));
    expect(desk.booked).toBe(3);

    await cluster.clock.advanceBy(2_000);
    desk.reported(workerView("w-1"), loadReport("w-1", { liveBookings: ids("r6") }));
    expect(desk.booked).toBe(1);
  });
});

describe("a desk and the loss of workers", () => {
  it("says so when a dispatch finds nobody, and leaves the worker out for a second", async () => {
    const { cluster, desk, view, heard } = deskRig([]);
    view.set(workerView("w-1"));
    desk.workersChanged();

    desk.take(routeDecode("r1"));
    expect((await heard()).at(-1)).toBe("failed r1 worker_lost");
    expect(desk.booked).toBe(0);

    desk.take(routeDecode("r2"));
    await cluster.clock.advanceBy(999);
    desk.sweep();
    expect(await heard()).toEqual(["queued r2"]);
    await cluster.clock.advanceBy(1);
    desk.sweep();
    expect(await heard()).toContain("booked r2 w-1");
  });

  it("calls nobody lost within a lease of the bus's return, and tries again after a heartbeat", async () => {
    const { cluster, desk, view, heard } = deskRig([]);
    view.set(workerView("w-1"));
    desk.workersChanged();
    desk.busIsBack();

    desk.take(routeDecode("r1"));
    expect((await heard()).at(-1)).toBe("failed r1 bus_unavailable");
    desk.take(routeDecode("r2"));
    expect(await heard()).toEqual(["queued r2"]);
    await cluster.clock.advanceBy(250);
    desk.sweep();
    expect((await heard()).at(-1)).toBe("failed r2 bus_unavailable");

    await cluster.clock.advanceBy(850);
    desk.take(routeDecode("r3"));
    expect((await heard()).at(-1)).toBe("failed r3 worker_lost");
  });

  it("ignores a bounce of a request that is over", async () => {
    const { desk, heard } = deskRig([workerView("w-1")]);
    desk.take(routeDecode("r1"));
    desk.cancel(ids("r1"));
    await heard();

    desk.undeliverable(routeDecode("r1").requestId);
    desk.undeliverable(routeDecode("r7").requestId);

    expect(await heard()).toEqual([]);
  });

  it("tells of a bounce that comes after the worker's loss was heard", async () => {
    const { desk, view, heard } = deskRig([workerView("w-1")]);
    desk.take(routeDecode("r1"));
    desk.workerLost(view.lose("w-1"));
    await heard();

    desk.undeliverable(routeDecode("r1").requestId);

    expect(await heard()).toEqual(["failed r1 worker_lost"]);
  });

  it("drops a lost worker's bookings and sends what waits elsewhere", async () => {
    const { desk, view, heard } = deskRig([workerView("w-1", one), workerView("w-2", one)]);
    for (const id of ["r1", "r2", "r3"]) desk.take(routeDecode(id));
    const toFirst = (await heard()).find((line) => line.startsWith("generate w-1"));

    desk.workerLost(view.lose("w-1"));
    expect(toFirst).toBeDefined();
    expect(await heard()).toEqual([]);
    expect(desk.booked).toBe(1);

    desk.reported(workerView("w-2"), loadReport("w-2", { endedBookings: ids("r1", "r2") }));
    expect(await heard()).toContain("generate w-2 r3");
  });

  it("refuses what waits when the last worker is lost", async () => {
    const { desk, view, heard } = deskRig([workerView("w-1", one)]);
    for (const id of ["r1", "r2"]) desk.take(routeDecode(id));
    await heard();

    desk.workerLost(view.lose("w-1"));

    expect(await heard()).toEqual(["failed r2 not_ready"]);
    expect(desk).toMatchObject({ booked: 0, queued: 0 });
  });

  it("does not hold a refusal against the worker's next life", async () => {
    const { cluster, desk, view, heard } = deskRig([]);
    view.set(workerView("w-1"));
    desk.workersChanged();
    desk.take(routeDecode("r1"));
    await cluster.clock.advanceBy(1);
    await heard();

    desk.workerLost(view.lose("w-1"));
    view.set(workerView("w-1", { generation: testGeneration + 1 }));
    desk.workersChanged();
    desk.take(routeDecode("r2"));

    expect(await heard()).toContain("booked r2 w-1");
  });
});

describe("a desk and the loss of others", () => {
  it("forgets a lost Frontend's requests, tells it of those that waited, and keeps those of its next life", async () => {
    const { desk, heard } = deskRig([workerView("w-1", one)]);
    desk.take(routeDecode("r1"));
    desk.take(routeDecode("r2"));
    desk.take(routeDecode("r3", { frontendGeneration: 2 }));
    desk.take(routeDecode("r4", { frontendId: actorId("f-2") }));
    await heard();

    desk.frontendLost(actorId("f-1"), 1);

    expect(await heard()).toEqual([
      "failed r2 bus_unavailable",
      "booked r3 w-1",
      "generate w-1 r3",
      "dispatched r3 w-1 after 0",
    ]);
    expect(desk).toMatchObject({ booked: 1, queued: 1 });
  });

  it("dispatches nothing while its bus is gone, and refuses on return what waited", async () => {
    const { cluster, desk, view, heard } = deskRig([workerView("w-1", one)]);
    for (const id of ["r1", "r2"]) desk.take(routeDecode(id, { timeoutMs: 500 }));
    await heard();

    cluster.network.disconnect(actorId("d-1"));
    view.set(workerView("w-2"));
    desk.workersChanged();
    await cluster.clock.advanceBy(1_000);
    desk.sweep();
    expect([await heard(), desk.queued]).toEqual([[], 1]);

    cluster.network.reconnect(actorId("d-1"));
    desk.refuseAll(new ServingError("bus_unavailable"));
    expect(await heard()).toEqual(["failed r2 bus_unavailable"]);
    expect(desk.queued).toBe(0);
  });
});

it("counts what it did by role, and shows what it holds", async () => {
  const { cluster, desk, heard } = deskRig([workerView("w-1", one)]);
  for (const id of ["r1", "r2"]) desk.take(routeDecode(id));
  desk.take(routeDecode("r3", { pool: "aggregated" }));
  await heard();

  const text = await cluster.metrics.text();

  const labels = 'actor="decode-router",id="d-1",role="decode"';
  expect(text).toContain(`baton_router_bookings{${labels}} 1`);
  expect(text).toContain(`baton_router_queued{${labels}} 1`);
  expect(text).toContain(`baton_router_dispatched_total{${labels}} 1`);
  expect(text).toContain(`baton_router_refused_total{${labels},code="not_ready"} 1`);
  expect(desk.model).toBe(model);
});
