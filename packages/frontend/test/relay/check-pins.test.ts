import type { WorkerView } from "@baton/cluster-view";
import { type WorkerType, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { idlePins, pinError, workerTypeOf } from "../../src/relay/check-pins.ts";
import type { ServingMode } from "../../src/request/request-sink.ts";
import type { RoutingWish } from "../../src/request/serving-request.ts";
import { FakeView } from "../support/fake-view.ts";

function workers(): readonly WorkerView[] {
  const view = new FakeView([
    { id: "p1", type: "prefill" },
    { id: "d1", type: "decode" },
    { id: "d2", type: "decode" },
    { id: "a1", type: "aggregated" },
  ]);
  view.lose("d2");
  return (view.model("m")?.workers ?? []).map((worker) =>
    worker.id === "p1" ? { ...worker, registration: ranked(worker, 2, 3) } : worker,
  );
}

function ranked({ registration }: WorkerView, dpStartRank: number, dpSize: number) {
  return { ...registration, capacity: { ...registration.capacity, dpStartRank, dpSize } };
}

function wish(
  rules: RoutingWish["rules"],
  said: RoutingWish["said"] = {
    prefillWorkerId: "baton.prefill_worker",
    prefillDpRank: "baton.prefill_dp_rank",
    decodeWorkerId: "baton.decode_worker",
    decodeDpRank: "baton.decode_dp_rank",
  },
): RoutingWish {
  return { rules, cacheSalt: null, said, ignored: [] };
}

function refusalOf(routing: RoutingWish, mode: ServingMode): string {
  const error = pinError(routing, mode, workers());
  return error === null ? "taken" : `${error.code} ${error.details.param}: ${error.message}`;
}

const [p1, d1, d2, a1, w9] = ["p1", "d1", "d2", "a1", "w9"].map(workerId);
if (p1 === undefined || d1 === undefined || d2 === undefined || a1 === undefined) throw new Error();
if (w9 === undefined) throw new Error();

describe("a pin", () => {
  it("is taken where its worker and rank are there", () => {
    expect(refusalOf(wish(null), "disaggregated")).toBe("taken");
    expect(refusalOf(wish({}), "disaggregated")).toBe("taken");
    expect(
      refusalOf(
        wish({ prefillWorkerId: p1, prefillDpRank: 4, decodeWorkerId: d1 }),
        "disaggregated",
      ),
    ).toBe("taken");
    expect(refusalOf(wish({ decodeWorkerId: a1, decodeDpRank: 0 }), "aggregated")).toBe("taken");
  });

  it.each<readonly [string, RoutingWish["rules"], ServingMode, string]>([
    [
      "a worker that nobody knows",
      { decodeWorkerId: w9 },
      "decode-only",
      "unknown_worker baton.decode_worker: baton.decode_worker: there is no decode worker w9",
    ],
    [
      "a worker that is lost",
      { decodeWorkerId: d2 },
      "disaggregated",
      "unknown_worker baton.decode_worker: baton.decode_worker: there is no decode worker d2",
    ],
    [
      "a worker of another type",
      { prefillWorkerId: d1 },
      "disaggregated",
      "unknown_worker baton.prefill_worker: baton.prefill_worker: there is no prefill worker d1: it is a decode worker",
    ],
    [
      "a decode worker where aggregated ones serve",
      { decodeWorkerId: d1 },
      "aggregated",
      "unknown_worker baton.decode_worker: baton.decode_worker: there is no aggregated worker d1: it is a decode worker",
    ],
    [
      "a worker that is not allowed",
      { decodeWorkerId: d1, allowedWorkers: [p1] },
      "disaggregated",
      "invalid_request baton.decode_worker: baton.decode_worker names d1, which is not among baton.allowed_workers",
    ],
    [
      "a rank that there is not",
      { prefillWorkerId: p1, prefillDpRank: 5 },
      "disaggregated",
      "invalid_request baton.prefill_dp_rank: baton.prefill_dp_rank must be from 2 to 4 for p1",
    ],
    [
      "one of several ranks without saying which",
      { prefillWorkerId: p1 },
      "disaggregated",
      "invalid_request baton.prefill_worker: baton.prefill_worker names p1, which has 3 ranks: name one too",
    ],
    [
      "a rank of nobody",
      { decodeDpRank: 0 },
      "disaggregated",
      "invalid_request baton.decode_dp_rank: baton.decode_dp_rank names a rank of a decode worker, but no worker is named",
    ],
  ])("is refused that names %s", (_title, rules, mode, refusal) => {
    expect(refusalOf(wish(rules), mode)).toBe(refusal);
  });

  it("leaves the rank to the session that may have bound it", () => {
    expect(refusalOf(wish({ prefillWorkerId: p1, session: { id: "s" } }), "disaggregated")).toBe(
      "taken",
    );
  });

  it("for both legs says so where it is wrong for one", () => {
    const header = "x-dynamo-worker-instance-id";
    const routing = wish(
      { prefillWorkerId: d1, decodeWorkerId: d1 },
      { prefillWorkerId: header, decodeWorkerId: header },
    );

    expect(refusalOf(routing, "disaggregated")).toBe(
      `unknown_worker ${header}: ${header}: there is no prefill worker d1: it is a decode worker; ${header} pins prefill too unless a prefill worker is named`,
    );
    expect(refusalOf(routing, "decode-only")).toBe("taken");
  });

  it("of a leg that there is not has no effect", () => {
    const rules = { prefillWorkerId: w9, prefillDpRank: 7 };

    expect(refusalOf(wish(rules), "decode-only")).toBe("taken");
    expect(
      idlePins(
        wish(rules, { prefillWorkerId: "baton.prefill_worker", prefillDpRank: "x-dp-rank" }),
        "decode-only",
      ),
    ).toEqual(["baton.prefill_worker", "x-dp-rank"]);
    expect(idlePins(wish(rules), "disaggregated")).toEqual([]);
    expect(
      idlePins(
        wish(rules, {
          prefillWorkerId: "x-worker-instance-id",
          decodeWorkerId: "x-worker-instance-id",
        }),
        "aggregated",
      ),
    ).toEqual([]);
  });
});

describe("the type of worker that a leg goes to", () => {
  it.each<readonly [ServingMode, "prefill" | "decode", WorkerType]>([
    ["disaggregated", "prefill", "prefill"],
    ["disaggregated", "decode", "decode"],
    ["decode-only", "decode", "decode"],
    ["aggregated", "decode", "aggregated"],
  ])("%s %s: %s", (mode, leg, type) => {
    expect(workerTypeOf(mode, leg)).toBe(type);
  });
});
