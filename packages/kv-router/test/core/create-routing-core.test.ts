import { describe, expect, it } from "vitest";
import { booking, frontend, worker } from "../support.ts";
import { coreBooking, coreOf, coreRequest, liveBooking, routableWorker } from "./core-support.ts";

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
});
