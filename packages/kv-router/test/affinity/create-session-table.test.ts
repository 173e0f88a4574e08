import { describe, expect, it } from "vitest";
import { createSessionTable, type SessionBinding, type SessionTable } from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

const ttlMs = 1_000;
const target = (name: string, dpRank = 0) => ({ workerId: worker(name), generation: 1, dpRank });
const newTable = (limit = 4, writer = "r1"): SessionTable =>
  createSessionTable({ writer: frontend(writer), ttlMs, limit });

/** A session bound to `w1` by a request that is over at 0 ms. */
function boundTable(): SessionTable {
  const table = newTable();
  table.ask(booking("a"), "s", 0);
  table.commit(booking("a"), target("w1"), 0);
  table.end(booking("a"), 0);
  return table;
}

const word = (facts: Partial<SessionBinding> = {}): SessionBinding => ({
  key: "s",
  ...target("w2"),
  sequence: 5_000,
  writer: frontend("r2"),
  ...facts,
});

describe("the first request of a session", () => {
  it("claims it, and the others wait", () => {
    const table = newTable();

    expect(table.ask(booking("a"), "s", 0)).toEqual({ kind: "claimed" });
    expect(table.ask(booking("b"), "s", 0)).toEqual({ kind: "wait" });
    expect(table.ask(booking("a"), "s", 5)).toEqual({ kind: "claimed" });
    expect(table.ask(booking("c"), "other", 0)).toEqual({ kind: "claimed" });
  });

  it("binds it when it is dispatched", () => {
    const table = newTable();
    table.ask(booking("a"), "s", 0);

    expect(table.commit(booking("a"), target("w1", 2), 7)).toMatchObject({
      key: "s",
      ...target("w1", 2),
      writer: "r1",
    });
    expect(table.ask(booking("b"), "s", 8)).toMatchObject({
      kind: "bound",
      target: target("w1", 2),
    });
  });

  it("gives it up when it leaves, and the next claims it", () => {
    const table = newTable();
    table.ask(booking("a"), "s", 0);
    table.ask(booking("b"), "s", 0);

    expect(table.end(booking("a"), 1)).toEqual({ reopened: true, binding: null });
    expect(table.ask(booking("b"), "s", 2)).toEqual({ kind: "claimed" });
  });

  it("leaves nothing behind when it gives up alone", () => {
    const table = newTable();
    table.ask(booking("a"), "s", 0);
    table.end(booking("a"), 1);

    expect(table.size).toBe(0);
  });
});

describe("a binding", () => {
  it("outlives its requests for the TTL, and no longer", () => {
    const table = boundTable();

    expect(table.ask(booking("b"), "s", ttlMs - 1).kind).toBe("bound");
    table.end(booking("b"), ttlMs - 1);
    expect(table.ask(booking("c"), "s", 2 * ttlMs - 1).kind).toBe("claimed");
  });

  it("does not age while a request holds it", () => {
    const table = boundTable();
    table.ask(booking("b"), "s", 10);
    table.sweep(50 * ttlMs);

    expect(table.ask(booking("c"), "s", 50 * ttlMs).kind).toBe("bound");
  });

  it("ages by a new TTL once that is set", () => {
    const table = boundTable();
    table.setTtl(10);

    expect(table.ask(booking("b"), "s", 11).kind).toBe("claimed");
  });

  it("is dropped by the holder that finds its rank gone, who chooses anew while others wait", () => {
    const table = boundTable();
    table.ask(booking("b"), "s", 1);
    table.ask(booking("c"), "s", 1);
    table.abandon(booking("b"));

    expect(table.ask(booking("c"), "s", 2).kind).toBe("wait");
    table.commit(booking("b"), target("w9"), 3);
    expect(table.ask(booking("c"), "s", 4)).toMatchObject({ kind: "bound", target: target("w9") });
  });

  it("is not dropped a second time by a holder that was told of it before", () => {
    const table = boundTable();
    table.ask(booking("b"), "s", 1);
    table.ask(booking("c"), "s", 1);
    table.abandon(booking("b"));
    table.abandon(booking("c"));

    expect(table.ask(booking("b"), "s", 2).kind).toBe("claimed");
  });

  it("stays lost when the holder that dropped it leaves, though others still run", () => {
    const table = boundTable();
    table.ask(booking("b"), "s", 1);
    table.commit(booking("b"), target("w1"), 1);
    table.ask(booking("c"), "s", 1);
    table.abandon(booking("c"));

    expect(table.end(booking("c"), 2)).toEqual({ reopened: true, binding: null });
    expect(table.ask(booking("d"), "s", 3).kind).toBe("claimed");
    expect(table.end(booking("b"), 3)).toEqual({ reopened: false, binding: null });
  });

  it("follows a request that went elsewhere", () => {
    const table = boundTable();
    const before = table.commit(booking("a"), target("w1"), 0);
    table.ask(booking("b"), "s", 1);

    expect(before).toBeNull();
    expect(table.commit(booking("b"), target("w2"), 2)).toMatchObject(target("w2"));
    expect(table.ask(booking("c"), "s", 3)).toMatchObject({ target: target("w2") });
  });
});

describe("a look at a session", () => {
  it("says where it is bound, and nothing while it is not", () => {
    const table = newTable();
    expect(table.peek("s", 0)).toBeNull();
    table.ask(booking("a"), "s", 0);
    expect(table.peek("s", 0)).toBeNull();
    table.commit(booking("a"), target("w1"), 0);

    expect(table.peek("s", 50 * ttlMs)).toMatchObject(target("w1"));
    table.end(booking("a"), 0);
    expect(table.peek("s", ttlMs - 1)).toMatchObject(target("w1"));
    expect(table.peek("s", ttlMs)).toBeNull();
  });

  it("claims nothing, keeps nothing alive, and lets nothing go", () => {
    const table = boundTable();
    table.peek("t", 0);
    expect(table.size).toBe(1);

    table.peek("s", ttlMs);
    expect(table.size).toBe(1);
    table.peek("s", ttlMs - 1);

    expect(table.ask(booking("b"), "s", ttlMs).kind).toBe("claimed");
  });
});

describe("a full table", () => {
  it("says so, and takes a session again when one has expired", () => {
    const table = newTable(2);
    for (const name of ["a", "b"]) {
      table.ask(booking(name), name, 0);
      table.commit(booking(name), target("w1"), 0);
    }
    table.end(booking("a"), 0);

    expect(table.ask(booking("c"), "c", ttlMs - 1)).toEqual({ kind: "full" });
    expect(table.ask(booking("b2"), "b", ttlMs - 1).kind).toBe("bound");
    expect(table.ask(booking("c"), "c", 2 * ttlMs)).toEqual({ kind: "claimed" });
  });

  it("takes no session of another router", () => {
    const table = newTable(1);
    table.ask(booking("a"), "a", 0);

    expect(table.hear(word(), true, 0)).toEqual({ kind: "ignored", reason: "full" });
  });
});

describe("a sweep", () => {
  it("forgets what has expired, once a period", () => {
    const table = boundTable();
    table.sweep(ttlMs - 1);
    expect(table.size).toBe(1);
    table.sweep(ttlMs);
    expect(table.size).toBe(1);
    table.sweep(2 * ttlMs);

    expect(table.size).toBe(0);
  });
});

describe("what other routers are told", () => {
  it("is each dispatch, with a version that rises only when the rank changes", () => {
    const table = newTable();
    const versions = [target("w1"), target("w1"), target("w2")].map((to, index) => {
      const holder = booking(`r${index}`);
      table.ask(holder, "s", 100);
      return table.commit(holder, to, 100)?.sequence;
    });

    expect(versions).toEqual([100, 100, 101]);
  });

  it("is the end of the last hold, so that they begin to count with it", () => {
    const table = newTable();
    for (const name of ["a", "b"]) {
      table.ask(booking(name), "s", 0);
      table.commit(booking(name), target("w1"), 0);
    }

    expect(table.end(booking("a"), 1)).toEqual({ reopened: false, binding: null });
    expect(table.end(booking("b"), 2).binding).toMatchObject({ key: "s", ...target("w1") });
    expect(table.end(booking("b"), 3)).toEqual({ reopened: false, binding: null });
  });

  it("is nothing when a request leaves that was never dispatched", () => {
    const table = boundTable();
    table.ask(booking("b"), "s", 1);

    expect(table.end(booking("b"), 2)).toEqual({ reopened: false, binding: null });
  });
});

describe("another router's word", () => {
  it("binds a session that is not known here", () => {
    const table = newTable();

    expect(table.hear(word(), true, 0)).toEqual({ kind: "taken" });
    expect(table.ask(booking("a"), "s", 1)).toMatchObject({ target: target("w2") });
  });

  it("replaces a binding of a lower version, and is ignored when its own is lower", () => {
    const table = boundTable();

    expect(table.hear(word({ sequence: 0, writer: frontend("r0") }), true, 0)).toEqual({
      kind: "ignored",
      reason: "older",
    });
    expect(table.hear(word(), true, 0)).toEqual({ kind: "taken" });
    expect(table.hear(word({ ...target("w3"), writer: frontend("r1") }), true, 0)).toEqual({
      kind: "ignored",
      reason: "older",
    });
    expect(table.hear(word({ ...target("w3"), writer: frontend("r3") }), true, 0)).toEqual({
      kind: "taken",
    });
  });

  it("keeps a binding alive that it agrees with, whatever its version", () => {
    const table = boundTable();

    expect(table.hear(word({ ...target("w1"), sequence: 0 }), true, ttlMs - 1)).toEqual({
      kind: "refreshed",
    });
    expect(table.ask(booking("b"), "s", 2 * ttlMs - 2).kind).toBe("bound");
  });

  it("replaces an expired binding whatever its version", () => {
    const table = boundTable();

    expect(table.hear(word({ sequence: 0 }), true, ttlMs)).toEqual({ kind: "taken" });
  });

  it("is ignored while the session is being claimed here, and loses against that claim", () => {
    const table = newTable();
    table.ask(booking("a"), "s", 0);

    expect(table.hear(word(), true, 0)).toEqual({ kind: "ignored", reason: "claimed" });
    expect(table.commit(booking("a"), target("w1"), 1)?.sequence).toBe(5_001);
  });

  it("is ignored if its worker is not known", () => {
    const table = newTable();

    expect(table.hear(word(), false, 0)).toEqual({ kind: "ignored", reason: "unknown_worker" });
    expect(table.size).toBe(0);
  });

  it("does not outrank a router that starts anew, as long as clocks agree", () => {
    const before = createSessionTable({ writer: frontend("r1"), ttlMs });
    const other = createSessionTable({ writer: frontend("r2"), ttlMs });
    before.ask(booking("a"), "s", 10_000);
    other.hear(before.commit(booking("a"), target("w1"), 10_000)!, true, 10_000);
    const restarted = createSessionTable({ writer: frontend("r1"), ttlMs });
    restarted.ask(booking("b"), "s", 10_500);

    const told = restarted.commit(booking("b"), target("w2"), 10_500)!;

    expect(other.hear(told, true, 10_500)).toEqual({ kind: "taken" });
  });
});
