import { actorId, Booking, type RouteDecode, requestId } from "@baton/protocol";
import { type Bus, noMetrics } from "@baton/runtime";
import { loadReport, memoryCluster, routeDecode } from "@baton/testing";
import { bench, describe } from "vitest";
import { ModelDesk } from "../src/model-desk.ts";
import type { PolicyFlags } from "../src/policy/policy-options.ts";
import { routerMetrics } from "../src/router-metrics.ts";
import { limits, loadedPolicy, model, noneHeld, plainPolicy } from "../test/support/desk-rig.ts";
import { FakeFeeds, promptOf as fakePrompt } from "../test/support/fake-feeds.ts";
import { FakeView, workerView } from "../test/support/fake-view.ts";

const inRack = {
  constraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
};

/** Blocks of a prompt in mode `kv`: 8,192 tokens in blocks of 16. */
const promptBlocks = 512;

/** A prompt of its own behind a beginning that it shares with every eighth one. */
function promptOf(number: number): Uint8Array {
  const shared = promptBlocks / 2;
  return fakePrompt(
    ...Array.from({ length: promptBlocks }, (_, index) =>
      index < shared
        ? 1 + index + promptBlocks * (number % 8)
        : index + promptBlocks * (8 + number),
    ),
  );
}

/** A desk over `count` workers, on a bus that drops everything, with half of the room booked. */
function deskOver(
  count: number,
  flags: Partial<PolicyFlags> = {},
): {
  readonly routeAndEnd: (changes: Partial<RouteDecode>) => void;
} {
  const feeds = new FakeFeeds();
  const cluster = memoryCluster();
  const ids = Array.from({ length: count }, (_, index) => `w-${index}`);
  const view = new FakeView(
    ids.map((id, index) => workerView(id, { topology: { rack: `r${index % 4}` } })),
  );
  const context = cluster.context({ role: "decode-router", id: "d-1" });
  const bus = { state: "connected", maxMessageBytes: 1e9, publish: () => undefined };
  const ctx = { ...context, bus: bus as unknown as Bus };
  const desk = new ModelDesk<RouteDecode>(
    { model, limits: { ...limits, queueLimit: 1_024, bookingLimit: 65_536 } },
    {
      ctx,
      view,
      policy: { ...plainPolicy, usesKvEvents: (workerType) => workerType === "decode" },
      loaded: loadedPolicy(flags),
      openFeed: feeds.open,
      metrics: routerMetrics(noMetrics, "decode", noneHeld),
    },
  );
  for (const [index, id] of ids.entries()) {
    const load = { generation: view.worker(actorId(id))?.generation ?? 0, dpRank: 0 };
    const size = {
      blocks: 2,
      promptTokens: 128,
      overlapBlocks: 0,
      prefillTokens: 0,
      sequenceHashes: new Uint8Array(),
      expectedOutputTokens: null,
      frontendGeneration: 1,
    };
    const owner = { routerId: actorId("d-2"), frontendId: actorId("f-1") };
    const bookingId = requestId(`held-${index}`);
    if (index % 2 === 0)
      desk.hear({ bookingId, ...owner, workerId: actorId(id), ...load, ...size });
  }
  desk.workersChanged();
  if (feeds.running > 0) {
    ids.forEach((id, index) => {
      feeds.hold(id, promptOf(index));
    });
  }
  let next = 0;
  return {
    routeAndEnd: (changes) => {
      next += 1;
      const request = routeDecode(`r-${next}`, changes);
      desk.take(request);
      // The end of it, as a worker reports it; whichever worker it was, the cancel finds the booking.
      if (next % 16 !== 0) return;
      const ended = Array.from({ length: 16 }, (_, back) => requestId(`r-${next - back}`));
      desk.cancel(ended);
      desk.reported(workerView("w-0"), loadReport("w-0", { sequence: next }));
    },
  };
}

describe.each([16, 1_000])("take and end, %d workers", (count) => {
  const { routeAndEnd } = deskOver(count);

  bench("without rules", () => routeAndEnd({}));
  bench("in one rack of four", () => routeAndEnd({ rules: inRack }));
});

describe.each([16, 1_000])("take and end by prefix and load, 512 blocks, %d workers", (count) => {
  const { routeAndEnd } = deskOver(count, { routerMode: "kv", sessionAffinityTtlSecs: 600 });
  const requests = Array.from({ length: 64 }, (_, index) => {
    const hashes = promptOf(index);
    return { promptTokens: 8_192, blockHashes: hashes, sequenceHashes: hashes };
  });
  let next = 0;
  const request = () => requests[next++ % requests.length] ?? {};

  bench("without a session", () => routeAndEnd(request()));
  bench("in one of 64 sessions", () =>
    routeAndEnd({ ...request(), rules: { session: { id: `s-${next % 64}` } } }),
  );
});

describe("the messages of one request", () => {
  const booking = {
    bookingId: requestId("r-1"),
    routerId: actorId("d-1"),
    frontendId: actorId("f-1"),
    workerId: actorId("w-1"),
    generation: 1_700_000_000_000,
    dpRank: 0,
    blocks: 16,
    promptTokens: 1_024,
    overlapBlocks: 0,
    prefillTokens: 0,
    sequenceHashes: new Uint8Array(),
    expectedOutputTokens: null,
    frontendGeneration: 1,
  };

  bench("encode a booking", () => {
    Booking.encode(booking);
  });
});
