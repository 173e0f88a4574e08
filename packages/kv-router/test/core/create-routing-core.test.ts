import { describe, expect, it } from "vitest";
import {
  createPredictedIndex,
  createRadixTree,
  createSelector,
  defaultLoadTracking,
  noBusyThresholds,
  type PredictedIndex,
} from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";
import {
  coreBooking,
  coreOf,
  coreRequest,
  hashesOf,
  liveBooking,
  routableWorker,
} from "./core-support.ts";

describe("choosing", () => {
  it("goes where the prompt's blocks are active, other things equal", () => {
    const { core } = coreOf([routableWorker("w1"), routableWorker("w2")]);
    core.book(coreBooking("a", "abcd", { prefillTokens: 0 }));
    core.book(coreBooking("b", "efgh", { prefillTokens: 0, workerId: worker("w2") }));

    expect(core.choose(coreRequest("abcdx"), 0)).toMatchObject({ workerId: "w1" });
    expect(core.choose(coreRequest("efghx"), 0)).toMatchObject({ workerId: "w2" });
  });

  it("goes where less is to be computed", () => {
    const { core } = coreOf([routableWorker("w1"), routableWorker("w2")]);
    core.book(coreBooking("a", "ab"));

    expect(core.choose(coreRequest("xy"), 0)).toMatchObject({ workerId: "w2" });
    core.prefillCompleted(booking("a"), 1);
    core.release(booking("a"), 2);
    core.book(coreBooking("b", "ab", { workerId: worker("w2") }));
    expect(core.choose(coreRequest("xy"), 0)).toMatchObject({ workerId: "w1" });
  });

  it("looks only at workers of the type, and only at those that are left when narrowed", () => {
    const { core } = coreOf([
      routableWorker("w1", { workerType: "decode" }),
      routableWorker("w2", { workerType: "decode" }),
      routableWorker("w3"),
    ]);
    const request = coreRequest("ab", { workerType: "decode" });

    expect(core.choose(coreRequest("ab"), 0.9)).toMatchObject({ workerId: "w3" });
    expect(
      core.choose(request, 0, (all) => all.filter(({ workerId }) => workerId === "w2")),
    ).toMatchObject({ workerId: "w2" });
    expect(core.choose(coreRequest("ab", { workerType: "prefill" }), 0)).toMatchObject({
      kind: "none",
      reason: "no_workers",
    });
  });
});

describe("bookings", () => {
  it("count on their rank until they end", () => {
    const { core, seen } = coreOf([routableWorker("w1", { dpSize: 2 })]);
    core.book(coreBooking("a", "abc", { dpRank: 1 }));

    expect(seen("abx")).toMatchObject([
      { requestsInFlight: 0, workerRequestsInFlight: 1, bookedBlocks: 0, activePrefillTokens: 0 },
      {
        requestsInFlight: 1,
        workerRequestsInFlight: 1,
        bookedBlocks: 3,
        bookedOverlapBlocks: 2,
        activePrefillTokens: 30,
      },
    ]);
    expect(core.release(booking("a"), 1)).toMatchObject({ bookingId: "a" });
    expect(seen("abx")).toMatchObject([
      { requestsInFlight: 0, workerRequestsInFlight: 0, bookedBlocks: 0 },
      { requestsInFlight: 0, bookedBlocks: 0, bookedOverlapBlocks: 0, activePrefillTokens: 0 },
    ]);
  });

  it("are learned from a report, and replaced by the booking itself with what the report told", () => {
    const { core, seen } = coreOf([routableWorker("w1")]);
    const w1 = { workerId: worker("w1"), generation: 1 };

    core.reconcile(w1, [liveBooking("a", { promptBlocks: 3, prefillTokens: 30 })], 0);
    expect(seen("abc")).toMatchObject([
      { requestsInFlight: 1, bookedBlocks: 3, bookedOverlapBlocks: 0, activePrefillTokens: 30 },
    ]);
    core.reconcile(w1, [liveBooking("a", { promptBlocks: 3, prefillTokens: 0 })], 1);
    core.book(coreBooking("a", "abc"));
    expect(seen("abc")).toMatchObject([
      { requestsInFlight: 1, bookedBlocks: 3, bookedOverlapBlocks: 3, activePrefillTokens: 0 },
    ]);
    expect(core.dropFrontend(frontend("f1"), 1, 2)).toHaveLength(1);
    expect(core.booked).toBe(0);
  });

  it("that are heard twice stay as they were, and beyond the limit there are none", () => {
    const { core, seen } = coreOf([routableWorker("w1"), routableWorker("w2")], {
      bookings: { limit: 1, graceMs: 0 },
    });

    expect(core.book(coreBooking("a", "ab"))).toBe("booked");
    expect(core.book(coreBooking("a", "ab", { workerId: worker("w2") }))).toBe("duplicate");
    expect(core.book(coreBooking("b", "ab"))).toBe("full");
    expect(seen("ab").map(({ requestsInFlight }) => requestsInFlight)).toEqual([1, 0]);
    expect(core.booked).toBe(1);
  });

  it("of a generation that is not listed count for nobody, and leave nothing behind", () => {
    const { core, seen } = coreOf([routableWorker("w1", { generation: 2 })]);
    core.book(coreBooking("a", "ab"));
    core.book(coreBooking("b", "ab", { generation: 2 }));

    expect(seen("ab")).toMatchObject([{ workerRequestsInFlight: 1, bookedBlocks: 2 }]);
    expect(core.dropWorker(worker("w1"), 1, 1)).toMatchObject([{ bookingId: "a" }]);
    expect(core.get(booking("a"))).toBeUndefined();
    expect(seen("ab")).toMatchObject([{ workerRequestsInFlight: 1, bookedBlocks: 2 }]);
  });

  it("count on a worker that comes back into the list, if its generation is the same", () => {
    const { core, seen } = coreOf([routableWorker("w1")]);
    core.book(coreBooking("a", "ab"));
    core.setWorkers([]);
    expect(seen("ab")).toEqual([]);

    core.setWorkers([routableWorker("w1")]);

    expect(seen("ab")).toMatchObject([{ workerRequestsInFlight: 1, bookedOverlapBlocks: 2 }]);
  });

  it("end when their worker no longer names them, or nobody speaks of them for too long", () => {
    const { core, seen } = coreOf([routableWorker("w1")]);
    const w1 = { workerId: worker("w1"), generation: 1 };
    core.book(coreBooking("a", "ab"));
    core.book(coreBooking("b", "abc"));

    expect(core.reconcile(w1, [liveBooking("b")], 5_000)).toMatchObject([{ bookingId: "a" }]);
    expect(seen("ab")).toMatchObject([{ bookedBlocks: 3, activePrefillTokens: 30 }]);
    expect(core.sweep(14_999)).toEqual([]);
    expect(core.sweep(15_000)).toMatchObject([{ bookingId: "b" }]);
    expect(seen("ab")).toMatchObject([{ bookedBlocks: 0, activePrefillTokens: 0 }]);
  });

  it("are not lost while prompts are still computed", () => {
    const { core } = coreOf([routableWorker("w1")]);
    core.book(coreBooking("a", "ab"));
    core.prefillCompleted(booking("a"), 9_000);

    expect(core.sweep(18_999)).toEqual([]);
    expect(core.sweep(19_000)).toHaveLength(1);
  });

  it("take over how far their worker says they are, and not what another says", () => {
    const tracking = { ...defaultLoadTracking, trackOutputBlocks: true };
    const { core, seen } = coreOf([routableWorker("w1"), routableWorker("w2")], { tracking });
    core.book(coreBooking("a", "ab"));
    const far = [liveBooking("a", { prefillTokens: 0, outputTokens: 11 })];

    core.reconcile({ workerId: worker("w2"), generation: 1 }, far, 1);
    core.reconcile({ workerId: worker("w1"), generation: 0 }, far, 1);
    expect(seen("ab")).toMatchObject([{ bookedBlocks: 2, activePrefillTokens: 20 }, {}]);
    core.reconcile({ workerId: worker("w1"), generation: 1 }, far, 1);
    expect(seen("ab")).toMatchObject([{ bookedBlocks: 4, activePrefillTokens: 0 }, {}]);
  });

  it("keep their prompt tokens while their worker does not say how many are left", () => {
    const { core, seen } = coreOf([routableWorker("w1")]);
    core.book(coreBooking("a", "ab"));
    core.reconcile({ workerId: worker("w1"), generation: 1 }, [liveBooking("a")], 1);

    expect(seen("ab")).toMatchObject([{ activePrefillTokens: 20 }]);
  });

  it("that are learned count on the first rank if theirs is unknown, and move when it is told", () => {
    const { core, seen } = coreOf([routableWorker("w1", { dpStartRank: 4, dpSize: 2 })]);
    const w1 = { workerId: worker("w1"), generation: 1 };
    const requests = () => seen("").map(({ requestsInFlight }) => requestsInFlight);

    core.reconcile(w1, [liveBooking("a"), liveBooking("b", { dpRank: 77 })], 0);
    expect(requests()).toEqual([2, 0]);
    core.reconcile(w1, [liveBooking("a", { dpRank: 5 }), liveBooking("b", { dpRank: 77 })], 1);
    expect(requests()).toEqual([1, 1]);
    core.reconcile(w1, [], 2);
    expect([requests(), core.booked]).toEqual([[0, 0], 0]);
  });

  it("fade by the model of durations", () => {
    const { core, seen } = coreOf([routableWorker("w1")], {
      prefillDuration: { kind: "polynomial", quadratic: 0, linear: 1, constant: 0 },
    });
    core.book(coreBooking("a", "abcd"));

    expect(seen("x", { nowMs: 30 })).toMatchObject([{ activePrefillTokens: 10 }]);
  });
});

describe("a policy", () => {
  it("that looks at no cache data has none looked up", () => {
    const index = { ...createRadixTree(), find: () => expect.unreachable("nobody asks the index") };
    const { core, seen } = coreOf([routableWorker("w1")], {
      selector: createSelector("least-loaded"),
      index,
    });
    core.book(coreBooking("a", "ab"));

    expect(seen("ab")).toMatchObject([{ overlapBlocks: 0, bookedOverlapBlocks: 0 }]);
  });

  it("may be another one, and bookings stay", () => {
    const { core } = coreOf([routableWorker("w1"), routableWorker("w2")]);
    core.book(coreBooking("a", "ab"));
    core.setPolicy(createSelector("round-robin"), noBusyThresholds);

    const chosen = [0, 0].map(() => core.choose(coreRequest("ab"), 0));
    expect(chosen).toMatchObject([{ workerId: "w1" }, { workerId: "w2" }]);
    expect(core.booked).toBe(1);
    core.setPolicy(createSelector("round-robin"), {
      ...noBusyThresholds,
      activePrefillTokensThreshold: 1,
    });
    expect(core.choose(coreRequest("ab"), 0)).toMatchObject({ workerId: "w2" });
    expect(core.choose(coreRequest("ab"), 0)).toMatchObject({ workerId: "w2" });
  });

  it("is asked without being changed", () => {
    const { core } = coreOf([routableWorker("w1"), routableWorker("w2")], {
      selector: createSelector("round-robin"),
    });
    const asked = [0, 0].map(() => core.explain(coreRequest("ab"), 0).selection);

    expect(asked).toMatchObject([{ workerId: "w1" }, { workerId: "w1" }]);
  });
});

describe("what ranks hold", () => {
  it("draws requests there, and is told with the choice", () => {
    const { core } = coreOf([routableWorker("w1"), routableWorker("w2"), routableWorker("w3")], {
      index: createRadixTree(),
    });
    const hold = (name: string, text: string) => {
      const rank = { workerId: worker(name), generation: 1, dpRank: 0 };
      core.index?.store(core.indexSlots.open(rank), "device", null, hashesOf(text));
    };
    hold("w2", "abc");
    hold("w3", "abcdef");

    expect(core.choose(coreRequest("abcdef"), 0)).toMatchObject({
      workerId: "w3",
      overlapBlocks: 6,
      bestOverlapBlocks: 6,
    });
    core.refuse(worker("w3"), 100);
    expect(core.choose(coreRequest("abcdef", { nowMs: 99 }), 0)).toMatchObject({
      workerId: "w2",
      overlapBlocks: 3,
      bestOverlapBlocks: 3,
    });
    core.forgetRefusal(worker("w3"));
    expect(core.choose(coreRequest("abcdef", { nowMs: 99 }), 0)).toMatchObject({ workerId: "w3" });
  });

  it("is predicted from bookings, each in its rank's slot, and forgotten with the rank", () => {
    const told: unknown[] = [];
    const predicted: PredictedIndex = {
      size: 0,
      record: (rank, hashes, nowMs) => told.push([rank, hashes.length / 8, nowMs]),
      find: (_, overlaps) => {
        overlaps.device = new Uint32Array([0, 2]);
        overlaps.length = 2;
      },
      removeRank: (rank) => told.push(["forgotten", rank]),
      sweep: (nowMs) => told.push(["swept", nowMs]),
    };
    const { core, seen } = coreOf([routableWorker("w1"), routableWorker("w2")], {
      predicted: () => predicted,
    });
    core.book(coreBooking("a", "abc", { workerId: worker("w2"), atMs: 5 }));
    core.book(coreBooking("b", "", { workerId: worker("w2") }));

    expect(seen("abc")).toMatchObject([{ overlapBlocks: 0 }, { overlapBlocks: 2 }]);
    core.setWorkers([]);
    core.release(booking("a"), 6);
    core.sweep(7);
    core.release(booking("b"), 8);
    expect(told).toEqual([
      [1, 3, 5],
      ["forgotten", 0],
      ["swept", 7],
      ["forgotten", 1],
    ]);
  });

  it("is predicted for as many blocks as the worker has room for, by its last word", () => {
    const asked: (number | null)[] = [];
    const { core } = coreOf([routableWorker("w1", { dpSize: 2 }), routableWorker("w2")], {
      predicted: (blocksOf) => {
        const index = createPredictedIndex({ policy: "lru", blocksOf });
        return {
          size: 0,
          record: (rank) => asked.push(blocksOf(rank)),
          find: (hashes, overlaps, nowMs) => index.find(hashes, overlaps, nowMs),
          removeRank: (rank) => asked.push(blocksOf(rank)),
          sweep: () => undefined,
        };
      },
    });
    const w2 = { workerId: worker("w2") };
    core.book(coreBooking("a", "ab", { dpRank: 1 }));
    core.book(coreBooking("b", "ab", w2));
    core.reported({ ...w2, generation: 1, accepting: true, activeBlocks: 1, totalBlocks: 7 });
    core.book(coreBooking("c", "ab", w2));
    core.setWorkers([]);
    core.release(booking("a"), 1);

    expect(asked).toEqual([50, 100, 7, null, null]);
  });

  it("is what was booked there, with a predicted index", () => {
    const { core, seen } = coreOf([routableWorker("w1"), routableWorker("w2")], {
      predicted: () => createPredictedIndex({ policy: "ttl", ttlMs: 1_000 }),
    });
    core.book(coreBooking("a", "abc", { workerId: worker("w2") }));
    core.release(booking("a"), 1);

    expect(seen("abcd")).toMatchObject([{ overlapBlocks: 0 }, { overlapBlocks: 3 }]);
    expect(core.choose(coreRequest("abcd"), 0)).toMatchObject({ workerId: "w2" });
    core.sweep(2_000);
    expect(seen("abcd", { nowMs: 2_000 })).toMatchObject([
      { overlapBlocks: 0 },
      { overlapBlocks: 0 },
    ]);
  });
});
