import { actorId, type RouteDecode } from "@baton/protocol";
import { routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { ids } from "./support/bookings.ts";
import { deskRig, policyFromFile } from "./support/desk-rig.ts";
import { promptOf } from "./support/fake-feeds.ts";
import { workerView } from "./support/fake-view.ts";
import { asking, kvDesk } from "./support/kv-desk.ts";

const [w1, w2] = [workerView("w-1"), workerView("w-2")];

describe("an explanation", () => {
  it("shows every candidate with its terms, and who would be taken", () => {
    const { desk, feeds } = kvDesk();
    feeds.hold("w-2", promptOf(1, 2, 3));

    const explained = desk.explain(asking("r1"));

    expect(explained).toMatchObject({
      routerId: "d-1",
      mode: "kv",
      candidates: [
        { workerId: "w-1", eligible: true, why: null, cost: 116, overlapBlocks: 0 },
        { workerId: "w-2", eligible: true, why: null, cost: 32, overlapBlocks: 3 },
      ],
      selected: { workerId: "w-2", dpRank: 0, overlapBlocks: 3, bestOverlapBlocks: 3 },
      refusal: null,
      decodeConstraints: null,
      ignored: [],
    });
    expect(explained.candidates[1]?.terms).toMatchObject({ cached_tokens: 192, credit_blocks: 3 });
    expect(explained.candidates.map(({ workerType }) => workerType)).toEqual(["decode", "decode"]);
  });

  it("says what the real request does then", async () => {
    const { desk, feeds, sentTo } = kvDesk();
    feeds.hold("w-1", promptOf(1));

    const explained = desk.explain(asking("r1"));

    expect(await sentTo(asking("r1"))).toBe(explained.selected?.workerId);
  });

  it("books nothing, sends nothing, and moves no cursor", async () => {
    const { desk, heard } = deskRig([w1, w2], { flags: { routerMode: "round-robin" } });
    const where = () => desk.explain(routeDecode("r1")).selected?.workerId;
    const first = where();

    for (let count = 0; count < 3; count += 1) expect(where()).toBe(first);

    expect([desk.booked, await heard()]).toEqual([0, []]);
    desk.take(routeDecode("r1"));
    expect(await heard()).toContain(`booked r1 ${first}`);
    expect(where()).not.toBe(first);
  });

  it("names what the request sets without effect", () => {
    const { desk } = deskRig([w1], { flags: { routerMode: "round-robin" } });
    const rules = { overrides: { overlapScoreCredit: 2 }, expectedOutputTokens: 9 };

    expect(desk.explain(routeDecode("r1", { rules })).ignored).toEqual([
      "overlap_score_credit",
      "expected_output_tokens",
    ]);
  });

  it("leaves out numbers that are none", () => {
    const { desk } = deskRig([w1], { flags: { routerMode: "kv" } });
    const explained = desk.explain(asking("r1", [], { promptTokens: Number.NaN }));

    expect(explained.candidates[0]?.cost).toBeNull();
    expect(Object.values(explained.candidates[0]?.terms ?? {}).every(Number.isFinite)).toBe(true);
    expect(explained.refusal?.[0]).toBe("internal");
  });
});

describe("an explanation of what cannot be", () => {
  it.each<{ what: string; request: RouteDecode; code: string; workers?: (typeof w1)[] }>([
    { what: "nobody is there", request: routeDecode("r1"), code: "not_ready", workers: [] },
    {
      what: "all drain",
      request: routeDecode("r1"),
      code: "not_ready",
      workers: [workerView("w-1", { state: "draining" })],
    },
    {
      what: "a taint is missing",
      request: routeDecode("r1", {
        rules: { constraints: { requiredTaints: ["gpu"], preferredTaints: {} } },
      }),
      code: "no_worker_available",
    },
    {
      what: "the pinned worker is not known",
      request: routeDecode("r1", { rules: { decodeWorkerId: actorId("w-9") } }),
      code: "unknown_worker",
    },
    {
      what: "the desk chooses no workers of that type",
      request: routeDecode("r1", { pool: "prefill" as "decode" }),
      code: "internal",
    },
  ])("has the error of the real request: $what", async ({ workers = [w1], request, code }) => {
    const { desk, heard } = deskRig(workers);

    const explained = desk.explain(request);

    expect([explained.selected, explained.refusal?.[0]]).toEqual([null, code]);
    desk.take(request);
    expect(await heard()).toEqual([`failed r1 ${code}`]);
  });

  it("has what the role refuses, and nobody selected", () => {
    const narrow = (_: RouteDecode, all: readonly { readonly workerId: string }[]) =>
      all.filter(({ workerId }) => workerId !== "w-2") as never;
    const { desk } = deskRig([w1, w2], { policy: { narrow } });

    const explained = desk.explain(routeDecode("r1"));

    expect(explained.selected?.workerId).toBe("w-1");
    expect(
      explained.candidates.map(({ workerId, eligible, why }) => [workerId, eligible, why]),
    ).toEqual([
      ["w-1", true, null],
      ["w-2", false, "filtered"],
    ]);
  });

  it("has neither worker nor error where the real request would wait", async () => {
    const { desk, heard } = deskRig([workerView("w-1", { capacity: { maxSequences: 1 } })]);
    desk.take(routeDecode("r1"));
    await heard();

    const explained = desk.explain(routeDecode("r2"));

    expect([explained.selected, explained.refusal]).toEqual([null, null]);
    expect(explained.candidates).toMatchObject([{ eligible: false, why: "at_limit" }]);
  });

  it("is refused by a busy threshold as the real request is", () => {
    const loaded = policyFromFile("busy_thresholds: {active_prefill_tokens_threshold: 1}");
    const { desk } = kvDesk([w1], { loaded });
    desk.take(asking("r1"));

    const explained = desk.explain(asking("r2"));

    expect(explained.refusal?.[0]).toBe("overloaded");
    expect(explained.candidates).toMatchObject([{ why: "overloaded" }]);
  });
});

describe("an explanation of a request of a session", () => {
  const inSession = (name: string, rules = {}) =>
    routeDecode(name, { rules: { session: { id: "s" }, ...rules } });
  const rig = () => deskRig([w1, w2], { flags: { sessionAffinityTtlSecs: 1 } });

  it("says where the session goes, and does not claim, hold or renew it", async () => {
    const { cluster, desk, heard } = rig();
    desk.explain(inSession("probe"));
    expect(desk.sessions).toBe(0);
    desk.take(inSession("r1"));
    const where = (await heard())[0]?.split(" ")[2];
    desk.cancel(ids("r1"));
    await cluster.clock.advanceBy(900);

    expect(desk.explain(inSession("probe")).selected?.workerId).toBe(where);

    await cluster.clock.advanceBy(100);
    desk.sweep();
    await cluster.clock.advanceBy(1_000);
    desk.sweep();
    expect(desk.sessions).toBe(0);
  });

  it("has the contradiction of a pin", async () => {
    const { desk, heard } = rig();
    desk.take(inSession("r1"));
    const where = (await heard())[0]?.split(" ")[2];
    const other = where === "w-1" ? w2.id : w1.id;

    const explained = desk.explain(inSession("r2", { decodeWorkerId: other }));

    expect([explained.selected, explained.refusal?.[0]]).toEqual([null, "invalid_request"]);
  });
});
