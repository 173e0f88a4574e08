import { ActorHeartbeat, LoadReport, RouteDecode, RoutePrefill } from "@baton/protocol";
import { expect, it } from "vitest";
import { actorHeartbeat, loadReport, routeDecode, routePrefill } from "../src/message-builders.ts";

it("makes life signs that travel unchanged", () => {
  const heartbeat = actorHeartbeat("f-1", { role: "frontend", state: "draining" });

  expect(ActorHeartbeat.decode(ActorHeartbeat.encode(heartbeat))).toEqual(heartbeat);
  expect(heartbeat).toMatchObject({ id: "f-1", role: "frontend", state: "draining", why: null });
  expect(actorHeartbeat("w-1")).toMatchObject({ role: "worker", state: "ready" });
});

it("makes load reports of idle workers that travel unchanged", () => {
  const report = loadReport("w-2", { sequence: 4, activeBlocks: null });

  expect(LoadReport.decode(LoadReport.encode(report))).toEqual(report);
  expect(report).toMatchObject({ workerId: "w-2", sequence: 4, accepting: true, cachedBlocks: 0 });
});

it("makes requests for either leg that travel unchanged", () => {
  const prefill = routePrefill("r1", { promptTokens: 9 });
  const decode = routeDecode("r1", { pool: "aggregated", stream: 8 });

  expect(RoutePrefill.decode(RoutePrefill.encode(prefill))).toEqual(prefill);
  expect(RouteDecode.decode(RouteDecode.encode(decode))).toEqual(decode);
  expect([prefill.promptTokens, decode.pool, decode.stream]).toEqual([9, "aggregated", 8]);
});
