import { createRoutingCore, createSelector, type SelectionRequest } from "@baton/kv-router";
import { actorId, type RequestSession } from "@baton/protocol";
import { routeDecode, testGeneration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { PoolSessions } from "../src/pool-sessions.ts";
import { routableWorker } from "../src/routable-worker.ts";
import { workerView } from "./support/fake-view.ts";

const w1 = { workerId: actorId("w-1"), generation: testGeneration, dpRank: 0 };
const w2 = { ...w1, workerId: actorId("w-2") };
const idOf = (name: string) => routeDecode(name).requestId;

function candidatesOf(...workers: readonly ReturnType<typeof workerView>[]) {
  const core = createRoutingCore({
    selector: createSelector("random"),
    bookings: { limit: 0, graceMs: 0 },
  });
  core.setWorkers(workers.map(routableWorker));
  return core.candidates("decode");
}

const both = candidatesOf(workerView("w-1"), workerView("w-2"));

function sessionsWith(mode: "hard" | "soft" = "hard", ttlMs = 1_000) {
  const sessions = new PoolSessions(actorId("d-1"));
  sessions.configure({ mode, ttlMs });
  const ask = (
    name: string,
    session: RequestSession = { id: "s" },
    rules: Partial<SelectionRequest> = {},
    candidates = both,
  ) => sessions.ask(idOf(name), session, { nowMs: 0, ...rules }, candidates);
  /** A request of the session is dispatched to `w-1`, and runs. */
  const bind = (name = "r1", session: RequestSession = { id: "s" }) => {
    ask(name, session);
    return sessions.commit(idOf(name), w1, 0);
  };
  return { sessions, ask, bind };
}

describe("a pool whose sessions have no effect", () => {
  it("lets each request be chosen for as it is, and remembers nothing", () => {
    const sessions = new PoolSessions(actorId("d-1"));

    const outcome = sessions.ask(idOf("r1"), { id: "s" }, { nowMs: 0 }, both);

    expect(outcome).toEqual({ kind: "choose", rule: {} });
    expect(sessions.commit(idOf("r1"), w1, 0)).toBeNull();
    expect([sessions.end(idOf("r1"), 0), sessions.size]).toEqual([null, 0]);
  });

  it("is also one with sessions, for a request without", () => {
    const { sessions } = sessionsWith();

    expect(sessions.ask(idOf("r1"), undefined, { nowMs: 0 }, both).kind).toBe("choose");
    expect(sessions.size).toBe(0);
  });
});

describe("the sessions of a pool", () => {
  it("let one request of a session choose while the others wait, and then all go there", () => {
    const { ask, bind } = sessionsWith();
    expect(ask("r1")).toEqual({ kind: "choose", rule: {} });
    expect(ask("r2")).toEqual({ kind: "wait" });

    expect(bind()).toMatchObject({ key: "s:s", ...w1, writer: "d-1" });

    expect(ask("r2")).toEqual({
      kind: "choose",
      rule: { pin: { workerId: "w-1", dpRank: 0 } },
    });
  });

  it("are a wish, and no rule, where they are soft", () => {
    const { ask, bind } = sessionsWith("soft");
    bind();

    expect(ask("r2")).toEqual({
      kind: "choose",
      rule: { preferred: { workerId: "w-1", dpRank: 0 } },
    });
  });

  it("send siblings to one worker, and leave the parent its own", () => {
    const { ask, bind } = sessionsWith();
    bind("r1", { id: "child-1", parent: "mother" });

    expect(ask("r2", { id: "child-2", parent: "mother" })).toMatchObject({
      rule: { pin: { workerId: "w-1" } },
    });
    expect(ask("r3", { id: "mother" })).toEqual({ kind: "choose", rule: {} });
    const pin = { workerId: actorId("w-2") };
    expect(ask("r4", { id: "child-3", parent: "mother" }, { pin })).toEqual({
      kind: "choose",
      rule: {},
    });
  });

  it.each([
    { what: "is gone", candidates: candidatesOf(workerView("w-2")) },
    {
      what: "began anew",
      candidates: candidatesOf(workerView("w-1", { generation: testGeneration + 1 })),
    },
    { what: "drains", candidates: candidatesOf(workerView("w-1", { state: "draining" })) },
  ])("are bound anew when their worker $what", ({ candidates }) => {
    const { sessions, ask, bind } = sessionsWith();
    bind();

    expect(ask("r2", { id: "s" }, {}, candidates)).toEqual({ kind: "choose", rule: {} });
    expect(ask("r3", { id: "s" }, {}, candidates)).toEqual({ kind: "wait" });
    sessions.commit(idOf("r2"), w2, 0);
    expect(ask("r3")).toMatchObject({ rule: { pin: { workerId: "w-2" } } });
  });

  it("refuse a pin that contradicts them, and nothing is held by who was refused", () => {
    const { sessions, ask, bind } = sessionsWith();
    bind();

    const outcome = ask("r2", { id: "s" }, { pin: { workerId: actorId("w-2") } });

    expect(outcome).toMatchObject({ kind: "refused", error: { code: "invalid_request" } });
    sessions.end(idOf("r2"), 0);
    expect(sessions.end(idOf("r1"), 0)).toMatchObject({ key: "s:s" });
  });

  it("are so many and no more: further ones are refused", () => {
    const { ask, bind } = sessionsWith();
    for (let count = 0; count < 65_536; count += 1) bind(`r${count}`, { id: `s${count}` });

    expect(ask("one-more", { id: "another" })).toMatchObject({
      kind: "refused",
      error: { code: "overloaded" },
    });
    expect(ask("of-a-known-one", { id: "s7" })).toMatchObject({ kind: "choose" });
  });

  it("are told when the last request has ended, live as long as configured, and are swept", () => {
    const { sessions, ask, bind } = sessionsWith();
    bind("r1");
    bind("r2");
    expect(sessions.end(idOf("r1"), 0)).toBeNull();
    expect(sessions.end(idOf("r2"), 0)).toMatchObject({ key: "s:s", workerId: "w-1" });

    sessions.configure({ mode: "hard", ttlMs: 50 });
    expect(ask("r3", { id: "s" }, { nowMs: 49 })).toMatchObject({ rule: { pin: {} } });
    sessions.end(idOf("r3"), 49);
    sessions.sweep(99);

    expect(sessions.size).toBe(0);
  });

  it("are forgotten when they are to have no effect any more", () => {
    const { sessions, ask, bind } = sessionsWith();
    bind();

    sessions.configure(null);
    expect(sessions.size).toBe(0);
    sessions.configure({ mode: "hard", ttlMs: 1_000 });

    expect(ask("r2")).toEqual({ kind: "choose", rule: {} });
  });

  it("follow another router's word of a worker that is known", () => {
    const { sessions, ask } = sessionsWith();
    const word = { key: "s:s", ...w2, sequence: 9, writer: actorId("d-2") };

    sessions.hear(word, false, 0);
    expect(sessions.size).toBe(0);
    sessions.hear(word, true, 0);

    expect(ask("r1")).toMatchObject({ rule: { pin: { workerId: "w-2" } } });
  });
});

describe("a look at a session", () => {
  it("says where it is bound, and neither claims, nor holds, nor drops anything", () => {
    const { sessions, ask, bind } = sessionsWith();
    const peek = (nowMs: number, candidates = both) =>
      sessions.peek({ id: "s" }, { nowMs }, candidates);
    expect(peek(0)).toEqual({ kind: "choose", rule: {} });
    expect(sessions.size).toBe(0);

    bind();
    sessions.end(idOf("r1"), 0);
    expect(peek(900)).toMatchObject({ rule: { pin: { workerId: "w-1" } } });
    expect(peek(900, candidatesOf(workerView("w-2")))).toEqual({ kind: "choose", rule: {} });

    expect(peek(1_000)).toEqual({ kind: "choose", rule: {} });
    expect(ask("r2", { id: "s" }, { nowMs: 999 })).toMatchObject({ rule: { pin: {} } });
  });
});
