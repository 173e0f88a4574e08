import { describe, expect, it } from "vitest";
import {
  forgetAfterMs,
  leaseMs,
  lostOwnsMs,
  registrationWith,
  registryWith,
  statesOf,
  waitingClaimMs,
} from "../support/builders.ts";

describe("Registry: leases", () => {
  it("keeps a lost worker, and takes it back when it is heard with the same generation", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.hear("p1", 1, false, 10);

    registry.lose("p1", 1, false, 1_000);
    expect(statesOf(registry)).toEqual({ p1: "lost" });
    registry.hear("p1", 1, false, 2_000);

    expect(statesOf(registry)).toEqual({ p1: "live" });
    expect(registry.counts).toEqual({ lost: 1, returned: 1, forgotten: 0 });
  });

  it("gives up a worker that registered and was never heard", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("p2"), 0);
    registry.hear("p2", 1, false, 10);

    registry.sweep(leaseMs - 1);
    expect(statesOf(registry)).toEqual({ p1: "live", p2: "live" });
    registry.sweep(leaseMs);

    expect(statesOf(registry)).toEqual({ p1: "lost", p2: "live" });
  });

  it("gives up nobody before a pardon ends", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.pardon(5_000);

    registry.sweep(4_999);
    expect(statesOf(registry)).toEqual({ p1: "live" });
    registry.sweep(5_000);
    expect(statesOf(registry)).toEqual({ p1: "lost" });
  });

  it("gives up again a worker that came back by registration only", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.hear("p1", 1, false, 10);
    registry.lose("p1", 1, false, 1_000);

    registry.register(registrationWith("p1"), 2_000);
    expect(statesOf(registry)).toEqual({ p1: "live" });
    registry.sweep(2_000 + leaseMs);

    expect(statesOf(registry)).toEqual({ p1: "lost" });
  });

  it("forgets a lost worker after a long time", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.lose("p1", 1, false, 1_000);

    registry.sweep(1_000 + forgetAfterMs - 1);
    expect(statesOf(registry)).toEqual({ p1: "lost" });
    registry.sweep(1_000 + forgetAfterMs);

    expect(registry.size).toBe(0);
    expect(registry.counts.forgotten).toBe(1);
  });

  it("lets a later start replace an earlier one, and never the reverse", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1", {}, { generation: 5 }), 0);

    const later = registry.register(registrationWith("p1", {}, { generation: 6 }), 1);
    const earlier = registry.register(registrationWith("p1", {}, { generation: 5 }), 2);
    registry.lose("p1", 5, false, 3);

    expect(later.kind).toBe("accepted");
    expect(earlier).toMatchObject({ kind: "rejected" });
    expect(statesOf(registry)).toEqual({ p1: "live" });
    expect(registry.has("p1", 6)).toBe(true);
  });

  it("names a later start that is lost to an earlier one that asks, and lists that as a still later one", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1", {}, { generation: 6 }), 0);
    const whileItLives = registry.register(registrationWith("p1", {}, { generation: 5 }), 1);
    registry.lose("p1", 6, false, 2);

    const afterIts = registry.register(registrationWith("p1", {}, { generation: 5 }), 3);
    const goesOn = registry.register(registrationWith("p1", {}, { generation: 7 }), 4);

    expect(whileItLives).toEqual({
      kind: "rejected",
      why: "a later start of this worker is registered",
    });
    expect(afterIts).toMatchObject({ kind: "rejected", lostGeneration: 6 });
    expect(goesOn.kind).toBe("accepted");
    expect(registry.has("p1", 7)).toBe(true);
    expect(statesOf(registry)).toEqual({ p1: "live" });
  });

  it("shows a worker that leaves as draining, and drops it when it is gone", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("p2"), 0);

    registry.deregister("p1", 1);
    registry.hear("p2", 1, true, 5);
    expect(statesOf(registry)).toEqual({ p1: "draining", p2: "draining" });
    registry.register(registrationWith("p1"), 6);
    expect(statesOf(registry)).toMatchObject({ p1: "draining" });
    registry.lose("p1", 1, false, 10);
    registry.lose("p2", 1, true, 10);

    expect(registry.size).toBe(0);
    expect(registry.deregister("p1", 1)).toBe(false);
  });

  it("rejects another namespace, and more workers than it may hold once none can be forgotten", () => {
    const registry = registryWith({ maxWorkers: 2 });
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("p2"), 0);
    registry.lose("p1", 1, false, 1);

    const foreign = registry.register(registrationWith("p3", {}, { namespace: "other" }), 2);
    expect(foreign).toEqual({ kind: "rejected", why: "this is namespace test" });
    expect(registry.register(registrationWith("p3"), 3).kind).toBe("accepted");
    expect(statesOf(registry)).toEqual({ p2: "live", p3: "live" });
    expect(registry.register(registrationWith("p4"), 4).kind).toBe("rejected");
  });
});

describe("Registry: conflicts", () => {
  it("refuses a differing card by its fields, and shows the worker as refused", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);

    const outcome = registry.register(registrationWith("p2", { engine: "llama" }), 1);

    expect(outcome).toEqual({
      kind: "refused",
      conflicts: [{ field: "engine", serving: "mock", offered: "llama" }],
      why: "the card differs from the serving one in engine",
    });
    expect(statesOf(registry)).toEqual({ p1: "live", p2: "refused" });
  });

  it("refuses a decode set whose hashes are not those of the prefill set", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);

    const other = registry.register(registrationWith("d1", { engine: "llama" }), 1);
    const wrong = registry.register(registrationWith("d2", { hashSalt: "x" }, { set: "b" }), 2);

    expect(other.kind).toBe("accepted");
    expect(wrong).toMatchObject({ kind: "refused", conflicts: [{ field: "hashSalt" }] });
  });

  it("lets two sets of a role and other models stand side by side", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);

    const second = registry.register(registrationWith("p2", { engine: "x" }, { set: "b" }), 1);
    const other = registry.register(registrationWith("p3", { model: "m2", blockSize: 1 }), 1);

    expect([second.kind, other.kind]).toEqual(["accepted", "accepted"]);
  });

  it("keeps the set for its owner while a member lives, drains, or is lost for a while", () => {
    const registry = registryWith();
    const newcomer = registrationWith("p9", { blockSize: 16 });
    registry.register(registrationWith("p1"), 0);
    registry.lose("p1", 1, false, 1_000);

    expect(registry.register(newcomer, 1_000 + lostOwnsMs - 1).kind).toBe("refused");
    expect(registry.register(newcomer, 1_000 + lostOwnsMs).kind).toBe("accepted");
    expect(statesOf(registry)).toEqual({ p1: "lost", p9: "live" });
  });

  it("refuses a lost worker that comes back after its set was taken over", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.lose("p1", 1, false, 1_000);
    registry.register(registrationWith("p9", { blockSize: 16 }), 1_000 + lostOwnsMs);

    registry.hear("p1", 1, false, 100_000);

    expect(statesOf(registry)).toEqual({ p1: "refused", p9: "live" });
  });

  it("gives a free set to the one that has waited longest and still asks", () => {
    const registry = registryWith();
    const first = registrationWith("p2", { blockSize: 16 });
    const second = registrationWith("p3", { blockSize: 32 });
    registry.register(registrationWith("p1"), 0);
    registry.register(first, 1_000);
    registry.register(second, 2_000);
    registry.lose("p1", 1, true, 3_000);

    expect(registry.register(second, 3_100)).toMatchObject({
      kind: "refused",
      conflicts: [{ field: "blockSize", serving: "16", offered: "32" }],
    });
    expect(registry.register(first, 3_200).kind).toBe("accepted");
  });

  it("does not keep a place for one that waits but asks no more, or is gone", () => {
    const registry = registryWith();
    const second = registrationWith("p3", { blockSize: 32 });
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("p2", { blockSize: 16 }), 1_000);
    registry.register(registrationWith("p4", { blockSize: 8 }), 1_100);
    registry.register(second, 2_000);
    registry.lose("p1", 1, true, 3_000);
    registry.lose("p4", 1, false, 3_000);

    expect(registry.register(second, 1_000 + waitingClaimMs - 1).kind).toBe("refused");
    expect(registry.register(second, 1_000 + waitingClaimMs).kind).toBe("accepted");
    expect(statesOf(registry)).toEqual({ p2: "refused", p3: "live" });
  });

  it("counts a change only when something is changed", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("p2", { blockSize: 1 }), 0);
    const { version } = registry;

    registry.register(registrationWith("p1"), 1);
    registry.register(registrationWith("p2", { blockSize: 1 }), 1);
    registry.hear("p1", 1, false, 2);
    registry.sweep(3);
    expect(registry.version).toBe(version);

    registry.register(registrationWith("p1", {}, { taints: ["slow"] }), 4);
    expect(registry.version).toBe(version + 1);
  });
});
