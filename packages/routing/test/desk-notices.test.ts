import { actorId, Dispatched, LegFailed, Queued, ServingError } from "@baton/protocol";
import { memoryCluster, routeDecode } from "@baton/testing";
import { expect, it } from "vitest";
import { DeskNotices, headOf } from "../src/desk-notices.ts";
import { model } from "./support/desk-rig.ts";

const request = routeDecode("r1");
const head = { requestId: "r1", frontendId: "f-1", frontendGeneration: 1, stream: 7 };

function rig() {
  const cluster = memoryCluster();
  const ctx = cluster.context({ role: "decode-router", id: "d-1", generation: 42 });
  const heard: [string, Uint8Array][] = [];
  cluster.network.observe(({ subject, payload }) => void heard.push([subject, payload]));
  const notices = new DeskNotices({ model, leg: "decode" }, ctx);
  return { cluster, notices, heard, ctx };
}

it("keeps of a request its head alone", () => {
  expect(headOf(request)).toEqual(head);
});

it("tells the request's own Frontend, each fact on a subject of its own", () => {
  const { cluster, notices, heard } = rig();
  const chosen = {
    kind: "selected",
    workerId: actorId("w-1"),
    generation: 3,
    dpRank: 1,
    overlapBlocks: 4,
    cachedTokens: 0,
    bestOverlapBlocks: 5,
  } as const;

  notices.queued(request);
  notices.dispatched(request, chosen, 12);
  notices.failed(request, new ServingError("overloaded"));

  const subject = (fact: "queued" | "dispatched" | "failed") =>
    cluster.subjects.toFrontend(fact, model, actorId("f-1"));
  const [queued, dispatched, failed] = heard.map(([, payload]) => payload);
  const empty = new Uint8Array();
  expect(heard.map(([to]) => to)).toEqual([
    subject("queued"),
    subject("dispatched"),
    subject("failed"),
  ]);
  expect(Queued.decode(queued ?? empty)).toEqual({
    ...head,
    leg: "decode",
    routerId: "d-1",
    routerGeneration: 42,
  });
  expect(Dispatched.decode(dispatched ?? empty)).toEqual({
    ...head,
    leg: "decode",
    routerId: "d-1",
    workerId: "w-1",
    generation: 3,
    dpRank: 1,
    overlapBlocks: 4,
    queuedMs: 12,
  });
  expect(LegFailed.decode(failed ?? empty)).toMatchObject({
    ...head,
    leg: "decode",
    actorId: "d-1",
    error: { code: "overloaded" },
  });
});

it("survives a bus that is gone", () => {
  const { cluster, notices, heard } = rig();
  cluster.network.disconnect(actorId("d-1"));

  expect(() => notices.queued(request)).not.toThrow();
  expect(heard).toEqual([]);
});
