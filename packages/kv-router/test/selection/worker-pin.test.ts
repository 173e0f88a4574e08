import { expect, it } from "vitest";
import { resolvePin } from "../../src/selection/worker-pin.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const ranks = [
  candidate("one", { dpRank: 3 }),
  candidate("two", { dpRank: 4 }),
  candidate("two", { dpRank: 5 }),
];

it("is unpinned when nothing is named", () => {
  expect(resolvePin(selectionRequest(), ranks)).toEqual({ kind: "unpinned" });
});

it("means a worker's only rank when none is named, whatever its number", () => {
  expect(resolvePin(selectionRequest({ pin: { workerId: worker("one") } }), ranks)).toEqual({
    kind: "pinned",
    workerId: "one",
    dpRank: 3,
  });
});

it("is at fault without a pin where one is needed, and only then", () => {
  const pin = { workerId: worker("one") };

  expect(resolvePin(selectionRequest(), ranks, true)).toMatchObject({
    kind: "invalid",
    fault: "pin_required",
  });
  expect(resolvePin(selectionRequest({ pin }), ranks, true).kind).toBe("pinned");
});

it.each(["prefill", "decode", "aggregated"] as const)(
  "says that the %s worker is to be named",
  (stage) => {
    expect(resolvePin(selectionRequest({ stage }), ranks, true)).toMatchObject({
      text: `the router mode does not choose: the request must name its ${stage} worker`,
    });
  },
);

it("takes a named rank", () => {
  const pin = { workerId: worker("two"), dpRank: 5 };

  expect(resolvePin(selectionRequest({ pin }), ranks)).toEqual({ kind: "pinned", ...pin });
});

it("resolves a pin on a draining or busy worker, which is known all the same", () => {
  const busy = [candidate("a", { draining: true, maxRequestsInFlight: 0 })];

  expect(resolvePin(selectionRequest({ pin: { workerId: worker("a") } }), busy).kind).toBe(
    "pinned",
  );
});

it.each([
  { pin: { dpRank: 0 }, fault: "rank_without_worker" },
  { pin: { workerId: worker("nobody") }, fault: "unknown_worker" },
  { pin: { workerId: worker("two") }, fault: "rank_required" },
  { pin: { workerId: worker("one"), dpRank: 0 }, fault: "rank_out_of_range" },
  { pin: { workerId: worker("two"), dpRank: 6 }, fault: "rank_out_of_range" },
])("refuses $pin as $fault", ({ pin, fault }) => {
  expect(resolvePin(selectionRequest({ pin }), ranks)).toMatchObject({ kind: "invalid", fault });
});

it("refuses a pin that the allow-list leaves out", () => {
  const request = selectionRequest({
    pin: { workerId: worker("one") },
    allowedWorkers: new Set([worker("two")]),
  });

  expect(resolvePin(request, ranks)).toMatchObject({ kind: "invalid", fault: "not_allowed" });
});
