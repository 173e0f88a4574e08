import { ServingError } from "@baton/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { RouteExplanation } from "../../src/explain/route-explanation.ts";
import { ApiRig, chatBody } from "../support/api-rig.ts";
import { answerHello } from "../support/fake-port.ts";
import { candidateOf, routeReply } from "../support/route-replies.ts";

const rigs: ApiRig[] = [];

async function rigWith(): Promise<ApiRig> {
  const rig = await new ApiRig().start();
  rigs.push(rig);
  return rig;
}

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.server.stop();
});

describe("a query for a route", () => {
  const explanation: RouteExplanation = {
    model: "m",
    mode: "decode-only",
    tokens: Uint32Array.of(7, 8),
    blockSize: 4,
    legs: [{ leg: "decode", route: routeReply([candidateOf("d1")]) }],
    ignored: [],
    failure: null,
  };

  it("is answered in one piece and sends nothing, even where a stream is asked for", async () => {
    const rig = await rigWith();
    rig.port.onExplain = () => explanation;

    const response = await rig.chat({ baton: { query_only: true }, stream: true });

    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(response.headers.get("x-request-id")).toMatch(/^req-/);
    expect(await response.json()).toMatchObject({
      object: "route",
      mode: "decode-only",
      selected: { prefill: null, decode: "d1" },
    });
    expect(rig.port.requests).toEqual([]);
    expect(rig.port.queries).toHaveLength(1);
    expect(rig.counted).toEqual([]);
  });

  it("may be an annotation, which adds ids of worker and tokens", async () => {
    const rig = await rigWith();
    rig.port.onExplain = () => explanation;

    const response = await rig.chat({ nvext: { annotations: ["query_instance_id:"] } });

    expect(await response.json()).toMatchObject({
      object: "route",
      nvext: { worker_id: { decode_worker_id: "d1" }, token_ids: [7, 8] },
    });
  });

  it("gets the error that the real request would get", async () => {
    const rig = await rigWith();
    const error = new ServingError("no_worker_available", { problem: "nobody" });
    rig.port.onExplain = () => ({ ...explanation, failure: { error, stage: "decode.queued" } });

    const response = await rig.chat({ baton: { query_only: true } });

    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({
      error: { code: "no_worker_available", stage: "decode.queued" },
      candidates: [{ worker: "d1" }],
    });
  });
});

describe("headers about routing", () => {
  it("come to the request, before what the body says", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    await rig.post(
      "/v1/chat/completions",
      { ...chatBody, cache_salt: "body" },
      {
        headers: {
          "content-type": "application/json",
          "x-tenant-id": "header",
          "x-dynamo-session-id": "s",
          "x-prefill-instance-id": "p1",
        },
      },
    );

    expect(rig.port.requests[0]?.routing).toEqual({
      rules: { session: { id: "s" }, prefillWorkerId: "p1" },
      cacheSalt: "header",
      said: { prefillWorkerId: "x-prefill-instance-id" },
      ignored: [],
    });
  });

  it("are refused by name if they cannot be read", async () => {
    const rig = await rigWith();

    const response = await rig.post("/v1/chat/completions", chatBody, {
      headers: { "content-type": "application/json", "x-dynamo-dp-rank": "first" },
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: "invalid_request", param: "x-dynamo-dp-rank", stage: "received" },
    });
  });
});
