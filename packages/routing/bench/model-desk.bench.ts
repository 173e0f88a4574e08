import { actorId, Booking, type RouteDecode, requestId } from "@baton/protocol";
import { type Bus, noMetrics } from "@baton/runtime";
import { loadReport, memoryCluster, routeDecode } from "@baton/testing";
import { bench, describe } from "vitest";
import { ModelDesk } from "../src/model-desk.ts";
import { routerMetrics } from "../src/router-metrics.ts";
import {
  limits,
  loadedPolicy,
  model,
  noFeed,
  noneHeld,
  plainPolicy,
} from "../test/support/desk-rig.ts";
import { FakeView, workerView } from "../test/support/fake-view.ts";

const inRack = {
  constraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
};

/** A desk over `count` workers, on a bus that drops everything, with half of the room booked. */
function deskOver(count: number): {
  readonly routeAndEnd: (changes: Partial<RouteDecode>) => void;
} {
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
      policy: plainPolicy,
      loaded: loadedPolicy(),
      openFeed: noFeed,
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
