import { actorId, type RouteDecode, type RoutingRules, SessionBound } from "@baton/protocol";
import { loadReport, routeDecode, testGeneration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import type { PolicyFlags } from "../src/policy/policy-options.ts";
import { ids } from "./support/bookings.ts";
import { deskRig, loadedPolicy, model } from "./support/desk-rig.ts";
import { workerView } from "./support/fake-view.ts";

const one = { capacity: { maxSequences: 1 } };
const [w1, w2] = [workerView("w-1"), workerView("w-2")];

function inSession(name: string, id: string, rules: RoutingRules = {}): RouteDecode {
  return routeDecode(name, { rules: { session: { id }, ...rules }, timeoutMs: 1_000 });
}

/** A desk whose sessions stay for ten seconds, and what it tells other routers of them. */
function sessionDesk(
  workers = [w1, w2],
  flags: Partial<PolicyFlags> = {},
  limits: { readonly queueLimit?: number } = {},
) {
  const rig = deskRig(workers, { flags: { sessionAffinityTtlSecs: 10, ...flags }, limits });
  const told: string[] = [];
  rig.cluster.network.observe(({ subject, payload }) => {
    if (!subject.endsWith(".session-bound")) return;
    const { key, workerId, workerType } = SessionBound.decode(payload);
    told.push(`${key} ${workerType} ${workerId}`);
  });
  /** Where a request went at once; else what its Frontend heard. */
  const ask = async (request: RouteDecode): Promise<string | undefined> => {
    rig.desk.take(request);
    const [first] = await rig.heard();
    return first?.startsWith("booked") ? first.split(" ")[2] : first;
  };
  const end = (worker: typeof w1, ...names: string[]) =>
    rig.desk.reported(worker, loadReport(worker.id, { endedBookings: ids(...names) }));
  return { ...rig, told, ask, end };
}

/** The workers by where the first request of session `s` went: its own, and the other. */
async function bound(rig: ReturnType<typeof sessionDesk>) {
  const where = await rig.ask(inSession("r1", "s"));
  return where === "w-1" ? { own: w1, other: w2 } : { own: w2, other: w1 };
}

describe("a session", () => {
  it("keeps to its worker, whatever the load, and other sessions do not", async () => {
    const rig = sessionDesk();
    const { own, other } = await bound(rig);

    expect(await rig.ask(inSession("r2", "s"))).toBe(own.id);
    expect(await rig.ask(inSession("r3", "s"))).toBe(own.id);
    expect(await rig.ask(inSession("r4", "t"))).toBe(other.id);
    expect(await rig.ask(routeDecode("r5"))).toBe(other.id);
  });

  it("waits for its worker where it is hard, and holds up nobody else", async () => {
    const rig = sessionDesk([workerView("w-1", one), workerView("w-2", one)]);
    const { own, other } = await bound(rig);

    expect(await rig.ask(inSession("r2", "s"))).toBe("queued r2");
    expect(await rig.ask(inSession("r3", "t"))).toBe(other.id);
    rig.end(other, "r3");
    expect(await rig.heard()).toEqual([]);
    rig.end(own, "r1");

    expect(await rig.heard()).toContain(`booked r2 ${own.id}`);
  });

  it("goes elsewhere for want of room where it is soft, and stays there", async () => {
    const rig = sessionDesk([workerView("w-1", one), workerView("w-2", one)], {
      sessionAffinityMode: "soft",
    });
    const { own, other } = await bound(rig);

    expect(await rig.ask(inSession("r2", "s"))).toBe(other.id);
    rig.end(own, "r1");
    rig.end(other, "r2");

    expect(await rig.ask(inSession("r3", "s"))).toBe(other.id);
  });

  it("shares a worker with the others of its parent", async () => {
    const rig = sessionDesk();
    const child = (name: string, id: string) =>
      inSession(name, id, { session: { id, parent: "m" } });
    const where = await rig.ask(child("r1", "a"));

    expect([await rig.ask(child("r2", "b")), await rig.ask(child("r3", "c"))]).toEqual([
      where,
      where,
    ]);
    expect(await rig.ask(inSession("r4", "m"))).not.toBe(where);
  });

  it("is bound anew when its worker is lost, once for all that wait", async () => {
    const rig = sessionDesk([workerView("w-1", one), workerView("w-2", one)]);
    const { own, other } = await bound(rig);
    for (const name of ["r2", "r3"]) await rig.ask(inSession(name, "s"));

    rig.desk.workerLost(rig.view.lose(own.id));
    expect(await rig.heard()).toContain(`booked r2 ${other.id}`);
    rig.end(other, "r2");

    expect(await rig.heard()).toContain(`booked r3 ${other.id}`);
  });

  it("contradicts no pin: that is the client's fault", async () => {
    const rig = sessionDesk();
    const { own, other } = await bound(rig);

    expect(await rig.ask(inSession("r2", "s", { decodeWorkerId: other.id }))).toBe(
      "failed r2 invalid_request",
    );
    expect(await rig.ask(inSession("r3", "s", { decodeWorkerId: own.id }))).toBe(own.id);
  });

  it("leaves a worker that its request's rules exclude", async () => {
    const racks = ["a", "b"].map((rack, index) =>
      workerView(`w-${index + 1}`, { topology: { rack } }),
    );
    const rig = sessionDesk(racks);
    const { own } = await bound(rig);
    const rack = own.id === "w-1" ? "b" : "a";
    const constraints = { requiredTaints: [`baton.topology/rack=${rack}`], preferredTaints: {} };

    expect(await rig.ask(inSession("r2", "s", { constraints }))).not.toBe(own.id);
  });

  it("ends when nobody has asked for so long, and nothing is left of it", async () => {
    const rig = sessionDesk();
    const { own } = await bound(rig);
    await rig.cluster.clock.advanceBy(60_000);
    rig.desk.sweep();
    expect(rig.desk.sessions).toBe(1);

    rig.end(own, "r1");
    await rig.cluster.clock.advanceBy(10_000);
    rig.desk.sweep();

    expect([rig.desk.sessions, rig.desk.booked]).toEqual([0, 0]);
  });
});

describe("requests that wait for another of their session", () => {
  const full = () => sessionDesk([workerView("w-1", one)]);

  it("are placed one after the other when that one is", async () => {
    const rig = full();
    await rig.ask(routeDecode("r0"));
    for (const name of ["r1", "r2", "r3"]) await rig.ask(inSession(name, "s"));

    const order: string[] = [];
    for (const ended of ["r0", "r1", "r2"]) {
      rig.end(w1, ended);
      order.push(...(await rig.heard()).filter((line) => line.startsWith("booked")));
    }

    expect(order).toEqual(["booked r1 w-1", "booked r2 w-1", "booked r3 w-1"]);
  });

  it.each([
    { what: "is cancelled", leave: (rig: ReturnType<typeof full>) => rig.desk.cancel(ids("r1")) },
    {
      what: "has waited too long",
      leave: async (rig: ReturnType<typeof full>) => {
        await rig.cluster.clock.advanceBy(500);
        await rig.ask(inSession("late", "s"));
        await rig.cluster.clock.advanceBy(500);
        rig.desk.sweep();
      },
      next: "late",
    },
    {
      what: "is of a Frontend that is lost",
      leave: (rig: ReturnType<typeof full>) => rig.desk.frontendLost(actorId("f-1"), 1),
      next: "of-f-2",
    },
  ])("choose for it when that one $what", async ({ leave, next = "r2" }) => {
    const rig = full();
    await rig.ask({ ...routeDecode("r0"), frontendId: actorId("f-2") });
    await rig.ask(inSession("r1", "s"));
    if (next !== "late") await rig.ask(inSession("r2", "s"));
    if (next === "of-f-2") await rig.ask({ ...inSession(next, "s"), frontendId: actorId("f-2") });

    await leave(rig);
    await rig.heard();
    rig.end(w1, "r0");

    expect(await rig.heard()).toContain(`booked ${next} w-1`);
  });

  it("leave nothing behind when there was no place to wait", async () => {
    const rig = sessionDesk([workerView("w-1", one)], {}, { queueLimit: 1 });
    for (const name of ["r0", "r1"]) await rig.ask(routeDecode(name));

    expect(await rig.ask(inSession("r2", "t"))).toBe("failed r2 overloaded");

    expect(rig.desk.sessions).toBe(0);
    rig.desk.cancel(ids("r0", "r1"));
    expect(await rig.ask(inSession("r3", "t"))).toBe("w-1");
  });

  it("are looked at one for each worker where none of those has room", async () => {
    let attempts = 0;
    const rules = () => {
      attempts += 1;
      return {};
    };
    const { desk } = deskRig([workerView("w-1", one), workerView("w-2", one)], {
      flags: { sessionAffinityTtlSecs: 10 },
      limits: { queueLimit: 100 },
      policy: { rules },
    });
    for (const session of ["s", "t"]) desk.take(inSession(`first-${session}`, session));
    for (let count = 0; count < 20; count += 1) {
      for (const session of ["s", "t"]) desk.take(inSession(`${session}-${count}`, session));
    }
    desk.pump();
    attempts = 0;

    desk.pump();

    expect([desk.queued, attempts]).toEqual([40, 2]);
  });
});

describe("what other routers are told of a session", () => {
  it("is each dispatch, and the end of the last request", async () => {
    const rig = sessionDesk([w1]);
    for (const name of ["r1", "r2"]) await rig.ask(inSession(name, "s"));
    const word = "s:s decode w-1";
    expect(rig.told).toEqual([word, word]);

    rig.end(w1, "r1");
    await rig.heard();
    expect(rig.told).toHaveLength(2);
    rig.end(w1, "r2");
    await rig.heard();

    expect(rig.told).toEqual([word, word, word]);
  });

  it("is nothing of requests without a session, or where sessions have no effect", async () => {
    const rig = sessionDesk([w1]);
    await rig.ask(routeDecode("r1"));
    rig.desk.setPolicy(loadedPolicy());
    await rig.ask(inSession("r2", "s"));

    expect([rig.told, rig.desk.sessions]).toEqual([[], 0]);
  });

  it("is the end of a binding's holds when the desk forgets what is booked", async () => {
    const rig = sessionDesk([w1]);
    await rig.ask(inSession("r1", "s"));

    const flags = {
      sessionAffinityTtlSecs: 10,
      trackOutputBlocks: true,
      routerMode: "kv",
    } as const;
    rig.desk.setPolicy(loadedPolicy(flags));
    await rig.heard();
    expect([rig.told.length, rig.desk.sessions]).toEqual([2, 1]);
    rig.desk.workerLost(rig.view.lose("w-1"));
    await rig.cluster.clock.advanceBy(10_000);
    rig.desk.sweep();

    expect(rig.desk.sessions).toBe(0);
  });
});

describe("another router's word of a session", () => {
  const word = (changes: Partial<SessionBound> = {}): SessionBound => ({
    routerId: actorId("d-2"),
    workerType: "decode",
    key: "s:s",
    workerId: w2.id,
    generation: testGeneration,
    dpRank: 0,
    sequence: 9e15,
    writer: actorId("d-2"),
    ...changes,
  });

  it("counts for the pool that it is about", async () => {
    const rig = sessionDesk();
    rig.desk.hearSession(word());
    rig.desk.hearSession(word({ key: "s:t", workerType: "aggregated" }));
    rig.desk.hearSession(word({ key: "s:u", workerType: "prefill" }));

    expect(rig.desk.sessions).toBe(1);
    for (const name of ["r1", "r2", "r3"]) expect(await rig.ask(inSession(name, "s"))).toBe("w-2");
  });

  it.each([
    { what: "a worker", changes: { workerId: actorId("w-9") } },
    { what: "a generation", changes: { generation: testGeneration - 1 } },
    { what: "a rank", changes: { dpRank: 1 } },
  ])("does not count where $what is not known", ({ changes }) => {
    const rig = sessionDesk();

    rig.desk.hearSession(word(changes));

    expect(rig.desk.sessions).toBe(0);
  });

  it("takes with it, within a sweep, what waits for the worker before behind others", async () => {
    const rig = sessionDesk([workerView("w-1", one), workerView("w-2", one)]);
    const { own, other } = await bound(rig);
    rig.desk.hearSession(word({ key: "s:t", workerId: own.id }));
    for (const [name, session] of [
      ["r2", "t"],
      ["r3", "s"],
    ] as const) {
      await rig.ask(inSession(name, session));
    }
    rig.desk.pump();

    rig.desk.hearSession(word({ workerId: other.id }));
    rig.desk.sweep();

    expect(await rig.heard()).toContain(`booked r3 ${other.id}`);
  });
});

it("says on the subject of its role and model where sessions go", async () => {
  const rig = sessionDesk([w1]);
  const subjects: string[] = [];
  rig.cluster.network.observe(({ subject }) => void subjects.push(subject));

  await rig.ask(inSession("r1", "s"));

  expect(subjects).toContain(rig.cluster.subjects.sessionBound("decode-router", model));
});
