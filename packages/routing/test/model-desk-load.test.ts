import { Booking, type LoadReport } from "@baton/protocol";
import { loadReport, routeDecode } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { bookingOn, ids } from "./support/bookings.ts";
import { deskRig, listenAs, loadedPolicy, model, stagedRequest } from "./support/desk-rig.ts";
import { promptOf } from "./support/fake-feeds.ts";
import { workerView } from "./support/fake-view.ts";
import { asking, kvDesk } from "./support/kv-desk.ts";

const decodeOverrides = { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false };
const [w1, w2] = [workerView("w-1"), workerView("w-2")];

describe("a desk that knows what workers hold", () => {
  it("sends a request where most of its prompt is, and says so to all who ask for figures", async () => {
    const { cluster, desk, feeds, sentTo } = kvDesk();
    const bookings: Booking[] = [];
    cluster.network.observe(({ subject, payload }) => {
      if (subject.endsWith(".booked")) bookings.push(Booking.decode(payload));
    });
    feeds.hold("w-1", promptOf(1));
    feeds.hold("w-2", promptOf(1, 2, 3));

    expect(await sentTo(asking("r1"))).toBe("w-2");

    expect(bookings).toMatchObject([
      { overlapBlocks: 3, blocks: 4, prefillTokens: 64, sequenceHashes: promptOf(1, 2, 3, 4) },
    ]);
    const text = await cluster.metrics.text();
    const cached = (kind: string) =>
      `baton_kv_cached_tokens_total{actor="decode-router",id="d-1",kind="${kind}",model="${model}",role="decode"} 192`;
    expect(text).toContain(cached("best"));
    expect(text).toContain(cached("selected"));
    desk.cancel(ids("r1"));
    expect(desk.booked).toBe(0);
  });

  it("counts what it sent, and goes elsewhere when that outweighs the prefix", async () => {
    const { feeds, sentTo } = kvDesk();
    feeds.hold("w-1", promptOf(1, 2));

    expect(await sentTo(asking("r1"))).toBe("w-1");
    expect(await sentTo(asking("r2", [1, 2, 7, 8, 9, 10]))).toBe("w-1");
    expect(await sentTo(asking("r3", [1, 2, 11, 12, 13, 14, 15]))).toBe("w-1");
    expect(await sentTo(asking("r4", [1, 21, 22]))).toBe("w-2");
  });

  it("lets a request say how much an overlap counts", async () => {
    const { desk, feeds, sentTo } = kvDesk();
    feeds.hold("w-1", promptOf(1, 2, 3, 4));
    desk.hear(bookingOn("w-1", { blocks: 1 }));

    expect(
      await sentTo(asking("r1", undefined, { rules: { overrides: { overlapScoreCredit: 0 } } })),
    ).toBe("w-2");
    expect(await sentTo(asking("r2"))).toBe("w-1");
  });

  it("looks away from caches and prompts for a decode that follows a prefill", async () => {
    const { cluster, desk, feeds, sentTo, terms } = kvDesk();
    feeds.hold("w-1", promptOf(1, 2, 3, 4));
    desk.hear(bookingOn("w-1", { blocks: 1, prefillTokens: 0 }));
    desk.hear(
      bookingOn("w-2", { bookingId: routeDecode("r8").requestId, prefillTokens: 999, blocks: 0 }),
    );
    const bookings: Booking[] = [];
    cluster.network.observe(({ subject, payload }) => {
      if (subject.endsWith(".booked")) bookings.push(Booking.decode(payload));
    });
    const request = asking("s1", undefined, {
      handoff: new Uint8Array([1]),
      rules: { overrides: decodeOverrides },
    });

    expect(await sentTo(request)).toBe("w-2");

    expect(bookings).toMatchObject([{ prefillTokens: 0, sequenceHashes: new Uint8Array() }]);
    expect(terms()["w-2/0"]).toMatchObject({ active_prefill_tokens: 999 });
  });

  it("tells other routers what output to expect", async () => {
    const { cluster, sentTo } = kvDesk(undefined, {
      flags: { routerMode: "kv", trackOutputBlocks: true },
    });
    const expected: (number | null)[] = [];
    cluster.network.observe(({ subject, payload }) => {
      if (subject.endsWith(".booked")) expected.push(Booking.decode(payload).expectedOutputTokens);
    });

    await sentTo(asking("r1", undefined, { rules: { expectedOutputTokens: 40 } }));
    await sentTo(asking("r2"));

    expect(expected).toEqual([40, null]);
  });
});

describe("prompt tokens that are booked", () => {
  it("count until the worker says that they are computed", async () => {
    const { desk, terms, sentTo } = kvDesk([w1]);
    await sentTo(asking("r1"));
    await sentTo(asking("r2", [5]));
    expect(terms()["w-1/0"]?.active_prefill_tokens).toBe(256 + 64);

    desk.reported(w1, loadReport("w-1", { prefilledBookings: ids("r1", "r7") }));

    expect(terms()["w-1/0"]).toMatchObject({ active_prefill_tokens: 64, active_requests: 2 });
    desk.reported(w1, loadReport("w-1", { endedBookings: ids("r2") }));
    expect(terms()["w-1/0"]).toMatchObject({ active_prefill_tokens: 0, active_requests: 1 });
  });

  it("do not go by the word of a worker that does not run the request", async () => {
    const { desk, terms, sentTo } = kvDesk();
    const where = await sentTo(asking("r1"));
    const other = where === "w-1" ? w2 : w1;

    desk.reported(other, loadReport(other.id, { prefilledBookings: ids("r1") }));

    expect(terms()[`${where}/0`]?.active_prefill_tokens).toBe(256);
  });
});

describe("a worker's word of all that it runs", () => {
  const dp2 = workerView("w-1", { capacity: { dpSize: 2 } });
  const report = (changes: Partial<LoadReport>) => loadReport("w-1", changes);

  it("is learned where it runs, with its blocks and the prompt that is still to be computed", () => {
    const { desk, terms } = kvDesk([dp2]);

    desk.reported(
      dp2,
      report({ liveBookings: ids("r1", "r2"), liveStates: [1, 20, 300, 0, 0, 5, 0, 9] }),
    );

    expect(desk.booked).toBe(2);
    const { "w-1/0": first, "w-1/1": second } = terms(asking("probe", []));
    expect(first).toMatchObject({ active_requests: 1, decode_blocks: 5, active_prefill_tokens: 0 });
    expect(second).toMatchObject({
      active_requests: 1,
      decode_blocks: 20,
      active_prefill_tokens: 300,
    });
  });

  it("frees the prompt tokens of a request whose word of it was lost", async () => {
    const { desk, terms, sentTo } = kvDesk([w1]);
    await sentTo(asking("r1"));

    desk.reported(w1, report({ liveBookings: ids("r1"), liveStates: [0, 4, 0, 1] }));

    expect(terms()["w-1/0"]).toMatchObject({ active_prefill_tokens: 0, active_requests: 1 });
  });

  it("leaves nothing of what it does not name", async () => {
    const { cluster, desk, terms, sentTo } = kvDesk([w1]);
    await sentTo(asking("r1"));
    await cluster.clock.advanceBy(2_000);

    desk.reported(w1, report({ liveBookings: [], liveStates: [] }));

    expect(terms(asking("probe", []))["w-1/0"]).toMatchObject({
      active_prefill_tokens: 0,
      active_requests: 0,
      decode_blocks: 0,
    });
  });
});

describe("a worker that refuses", () => {
  it("is left out for a second from its last refusal, and no longer", async () => {
    const { cluster, desk, heard } = deskRig([w1]);
    desk.take(routeDecode("r1"));
    desk.take(routeDecode("r2"));
    desk.reported(w1, loadReport("w-1", { endedBookings: ids("r1"), refusedBookings: ids("r1") }));
    await cluster.clock.advanceBy(500);
    desk.reported(w1, loadReport("w-1", { endedBookings: ids("r2"), refusedBookings: ids("r2") }));
    await heard();

    desk.take(routeDecode("r3"));
    await cluster.clock.advanceBy(999);
    desk.sweep();
    expect(await heard()).toEqual(["queued r3"]);
    await cluster.clock.advanceBy(1);
    desk.sweep();

    expect(await heard()).toContain("booked r3 w-1");
  });

  it("is left out though the policy changes meanwhile", async () => {
    const { cluster, desk, heard } = deskRig([w1]);
    desk.take(routeDecode("r1"));
    desk.reported(w1, loadReport("w-1", { endedBookings: ids("r1"), refusedBookings: ids("r1") }));
    await heard();

    desk.setPolicy(loadedPolicy({ routerMode: "kv", trackOutputBlocks: true }));
    desk.take(routeDecode("r2"));

    expect(await heard()).toEqual(["queued r2"]);
    await cluster.clock.advanceBy(1_000);
    desk.sweep();
    expect(await heard()).toContain("booked r2 w-1");
  });
});

describe("workers that are all over a busy threshold", () => {
  const flags = { routerMode: "kv", activePrefillTokensThreshold: 100 } as const;

  it("get nothing more: requests are refused at once, and one fits again when prompts are computed", async () => {
    const { desk, heard } = kvDesk([w1], { flags });
    desk.take(asking("r1"));
    await heard();

    desk.take(asking("r2"));
    expect(await heard()).toEqual(["failed r2 overloaded"]);

    desk.reported(w1, loadReport("w-1", { prefilledBookings: ids("r1") }));
    desk.take(asking("r3"));
    expect(await heard()).toContain("booked r3 w-1");
  });

  it("let staged KV wait, and nobody else beside it", async () => {
    const { desk, heard } = kvDesk([w1], { flags });
    desk.take(asking("r1"));
    await heard();

    desk.take(stagedRequest("s1", { rules: { overrides: decodeOverrides } }));
    desk.take(asking("r2"));
    desk.sweep();
    desk.take(asking("r3"));
    expect(await heard()).toEqual(["queued s1", "failed r2 overloaded", "failed r3 overloaded"]);

    desk.reported(w1, loadReport("w-1", { prefilledBookings: ids("r1") }));
    desk.take(asking("r4"));
    expect((await heard()).filter((line) => line.startsWith("booked"))).toEqual([
      "booked s1 w-1",
      "booked r4 w-1",
    ]);
  });

  it("are those that hold a pinned request, whatever others do", async () => {
    const { desk, heard } = kvDesk([w1, w2], { flags });
    const pinned = { rules: { decodeWorkerId: w1.id } };
    desk.take(asking("r1", undefined, pinned));
    await heard();

    desk.take(asking("r2", undefined, pinned));
    desk.take(asking("r3"));

    expect((await heard()).slice(0, 2)).toEqual(["failed r2 overloaded", "booked r3 w-2"]);
  });

  it("are told by what they report as well, until both counts are below", async () => {
    const share = { routerMode: "kv", activeDecodeBlocksThreshold: 0.5 } as const;
    const { desk, heard } = kvDesk([w1], { flags: share });
    desk.reported(w1, loadReport("w-1", { activeBlocks: 60 }));
    desk.take(asking("r1"));
    expect(await heard()).toEqual(["failed r1 overloaded"]);

    desk.reported(w1, loadReport("w-1", { activeBlocks: null }));
    desk.take(asking("r2"));
    expect(await heard()).toEqual(["failed r2 overloaded"]);

    desk.reported(w1, loadReport("w-1", { activeBlocks: 50 }));
    desk.take(asking("r3"));
    expect(await heard()).toContain("booked r3 w-1");
  });
});

describe("a desk whose policy changes", () => {
  it("chooses by the new one from the next choice on", async () => {
    const { desk, sentTo, feeds } = kvDesk();
    feeds.hold("w-2", promptOf(1, 2, 3, 4));
    expect(await sentTo(asking("r1"))).toBe("w-2");

    desk.setPolicy(loadedPolicy({ routerMode: "round-robin" }));

    expect([await sentTo(asking("r2")), await sentTo(asking("r3"))].sort()).toEqual(["w-1", "w-2"]);
  });

  it("places at once what the old one held back", async () => {
    const { desk, heard } = kvDesk([w1], {
      flags: { routerMode: "kv", activePrefillTokensThreshold: 100 },
    });
    desk.take(asking("r1"));
    desk.take(stagedRequest("s1"));
    await heard();

    desk.setPolicy(loadedPolicy({ routerMode: "kv" }));

    expect(await heard()).toContain("booked s1 w-1");
  });

  it("is taught within a heartbeat what runs, where other things are to be counted", async () => {
    const { desk, terms, sentTo } = kvDesk([w1]);
    await sentTo(asking("r1"));

    desk.setPolicy(loadedPolicy({ routerMode: "kv", trackOutputBlocks: true }));
    expect(desk.booked).toBe(0);
    desk.reported(w1, loadReport("w-1", { liveBookings: ids("r1"), liveStates: [0, 4, 128, 0] }));

    expect(desk.booked).toBe(1);
    expect(terms(asking("probe", []))["w-1/0"]).toMatchObject({
      active_prefill_tokens: 128,
      decode_blocks: 4,
    });
    desk.reported(w1, loadReport("w-1", { endedBookings: ids("r1") }));
    expect(desk.booked).toBe(0);
  });
});

it("refuses a request that names nobody where the mode never chooses", async () => {
  const { desk, heard } = deskRig([w1], { flags: { routerMode: "direct" } });

  desk.take(routeDecode("r1"));
  desk.take(routeDecode("r2", { rules: { decodeWorkerId: w1.id } }));

  expect((await heard()).slice(0, 2)).toEqual(["failed r1 invalid_request", "booked r2 w-1"]);
});

it("dispatches once a request that comes twice while it waits", async () => {
  const { cluster, desk, view, heard } = deskRig([
    workerView("w-1", { capacity: { maxSequences: 1 } }),
  ]);
  listenAs(cluster, "w-2");
  for (const id of ["r1", "r2"]) desk.take(routeDecode(id));
  await heard();

  desk.take(routeDecode("r2"));
  view.set(w2);
  desk.workersChanged();

  expect((await heard()).filter((line) => line.startsWith("generate"))).toEqual([
    "generate w-2 r2",
  ]);
  expect(desk).toMatchObject({ booked: 2, queued: 0 });
});
