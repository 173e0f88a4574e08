import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { unexplained } from "../../src/explain/explain-route.ts";
import type { RouteExplanation } from "../../src/explain/route-explanation.ts";
import { routeAnswer } from "../../src/http/route-json.ts";
import { candidateOf, routeReply } from "../support/route-replies.ts";

const frame = { requestId: "r1", overloadStatus: 529, form: "baton" } as const;
const prefill = routeReply(
  [
    candidateOf("p1", {
      workerType: "prefill",
      cost: 1.5,
      terms: { prefill_blocks: 1.5 },
      overlapBlocks: 2,
    }),
    candidateOf("p2", {
      workerType: "prefill",
      dpRank: 1,
      eligible: false,
      why: "draining",
      cost: null,
      overlapBlocks: 9,
    }),
  ],
  {
    routerId: "pr",
    decodeConstraints: { requiredTaints: ["rack=1"], preferredTaints: { fast: 0.5 } },
  },
);
const decode = routeReply([candidateOf("d1", { dpRank: 3 })], { routerId: "dr", mode: "random" });
const relayed: RouteExplanation = {
  model: "m",
  mode: "disaggregated",
  tokens: Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
  blockSize: 4,
  legs: [
    { leg: "prefill", route: prefill },
    { leg: "decode", route: decode },
  ],
  ignored: ["nvext.agent_hints.priority"],
  failure: null,
};

const bodyOf = (explanation: RouteExplanation, form: "baton" | "nvext" = "baton") =>
  JSON.parse(routeAnswer(explanation, { ...frame, form }).body);

describe("the answer to a query for a route", () => {
  it("shows each candidate, who is selected and by whom", () => {
    const answer = routeAnswer(relayed, frame);

    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({
      object: "route",
      model: "m",
      mode: "disaggregated",
      candidates: [
        {
          role: "prefill",
          worker: "p1",
          dp_rank: 0,
          eligible: true,
          cost: 1.5,
          terms: { prefill_blocks: 1.5 },
          cached_tokens: 8,
        },
        {
          role: "prefill",
          worker: "p2",
          dp_rank: 1,
          eligible: false,
          why: "draining",
          cost: null,
          terms: {},
          cached_tokens: 10,
        },
        {
          role: "decode",
          worker: "d1",
          dp_rank: 3,
          eligible: true,
          cost: 1,
          terms: {},
          cached_tokens: 0,
        },
      ],
      selected: { prefill: "p1", decode: "d1" },
      selected_dp_ranks: { prefill: 0, decode: 3 },
      waits: [],
      routers: { prefill: { id: "pr", mode: "kv" }, decode: { id: "dr", mode: "random" } },
      decode_constraints: { required: ["rack=1"], preferred: { fast: 0.5 } },
      ignored: ["nvext.agent_hints.priority"],
      prompt_tokens: 10,
      block_size: 4,
    });
  });

  it("says which leg would wait for room", () => {
    const legs = [
      { leg: "decode", route: routeReply([candidateOf("d1")], { selected: null }) },
    ] as const;

    expect(bodyOf({ ...relayed, mode: "decode-only", legs })).toMatchObject({
      selected: { prefill: null, decode: null },
      waits: ["decode"],
    });
  });

  it("is the real request's error, with what is known of the route", () => {
    const refusal = ["no_worker_available", "nobody", {}] as const;
    const route = routeReply([candidateOf("d1", { eligible: false, why: "missing_taint" })], {
      selected: null,
      refusal: [...refusal],
    });
    const error = new ServingError("no_worker_available", { problem: "nobody" });
    const answer = routeAnswer(
      {
        ...relayed,
        legs: [{ leg: "decode", route }],
        failure: { error, stage: "decode.queued" },
      },
      frame,
    );

    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("1");
    expect(JSON.parse(answer.body)).toMatchObject({
      error: {
        code: "no_worker_available",
        message: "nobody",
        stage: "decode.queued",
        request_id: "r1",
      },
      object: "route",
      candidates: [{ worker: "d1", why: "missing_taint" }],
      waits: [],
    });
  });

  it("is an error alone where nothing is known", () => {
    const request = {
      requestId: "r1" as never,
      model: "gone",
      prompt: { kind: "text", text: "" },
      output: { maxTokens: 1, n: 1 },
      stop: [],
      clientRequestId: null,
      traceparent: null,
    } as const;
    const error = new ServingError("model_not_found", { param: "model" });
    const answer = routeAnswer(unexplained(request, error, "received"), frame);

    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: { code: "model_not_found", param: "model", stage: "received" },
      mode: null,
      candidates: [],
      selected: { prefill: null, decode: null },
    });
  });

  it("adds worker ids and token ids in the other form", () => {
    expect(bodyOf(relayed).nvext).toBeUndefined();
    expect(bodyOf(relayed, "nvext")).toMatchObject({
      object: "route",
      nvext: {
        worker_id: {
          prefill_worker_id: "p1",
          prefill_dp_rank: 0,
          decode_worker_id: "d1",
          decode_dp_rank: 3,
        },
        token_ids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      },
    });
    const alone = { ...relayed, mode: "aggregated", legs: relayed.legs.slice(1) } as const;
    expect(bodyOf(alone, "nvext").nvext.worker_id).toMatchObject({
      prefill_worker_id: "d1",
      prefill_dp_rank: 3,
    });
  });
});
