import { describe, expect, it } from "vitest";
import type { RouteAnswer, RouteCandidate } from "../../src/bus-tools/explain.ts";
import { routeText } from "../../src/bus-tools/route-text.ts";

function candidate(worker: string, changes: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    role: "decode",
    worker,
    dp_rank: 0,
    eligible: true,
    cost: 1,
    terms: {},
    cached_tokens: 0,
    ...changes,
  };
}

const answer: RouteAnswer = {
  model: "org/model",
  mode: "disaggregated",
  candidates: [
    candidate("p-2", { role: "prefill", cost: 48, terms: { prefill_blocks: 48 } }),
    candidate("p-3", { role: "prefill", eligible: false, why: "missing_taint", cost: null }),
    candidate("p-1", {
      role: "prefill",
      dp_rank: 1,
      cost: 12.3456,
      terms: { prefill_blocks: 12, decode_blocks: 0.3456 },
      cached_tokens: 1_024,
    }),
    candidate("d-1"),
  ],
  selected: { prefill: "p-1", decode: "d-1" },
  selected_dp_ranks: { prefill: 1, decode: 0 },
  waits: [],
  routers: { prefill: { id: "pr", mode: "kv" }, decode: { id: "dr", mode: "least-loaded" } },
  decode_constraints: { required: ["baton.topology/rack=r1"], preferred: { fast: 0.5 } },
  ignored: ["nvext.agent_hints.priority"],
  prompt_tokens: 4_096,
  block_size: 64,
};

describe("a route for people", () => {
  it("shows each leg's choice and its candidates, the best first", () => {
    expect(routeText(answer)).toBe(`org/model, disaggregated, prompt of 4,096 tokens, blocks of 64

prefill: p-1 rank 1  (kv, by pr)
   WORKER  RANK  COST    CACHED TOKENS  WHY NOT        TERMS
→  p-1     1     12.346  1,024 (25%)                   prefill_blocks 12, decode_blocks 0.346
   p-2     0     48      0                             prefill_blocks 48
   p-3     0     –       0              missing taint

decode: d-1 rank 0  (least-loaded, by dr)
   WORKER  RANK  COST  CACHED TOKENS
→  d-1     0     1     0

the prefill worker requires baton.topology/rack=r1, prefers fast (0.5) of decode

without effect: nvext.agent_hints.priority
`);
  });

  it("says how the request would be refused, and shows what is known", () => {
    const text = routeText({
      ...answer,
      error: {
        message: "no worker is free",
        code: "no_worker_available",
        param: null,
        stage: "decode.routing",
      },
      selected: { prefill: "p-1", decode: null },
      selected_dp_ranks: { prefill: 1, decode: null },
    });

    expect(text).toContain(
      "refused: no worker is free\n         no_worker_available in decode.routing",
    );
    expect(text).toContain("decode: nobody  (least-loaded, by dr)");
  });

  it("says where it would wait, and hides the many", () => {
    const many = Array.from({ length: 25 }, (_, index) => candidate(`d-${index}`));
    const text = routeText({
      ...answer,
      mode: "decode-only",
      candidates: many,
      selected: { prefill: null, decode: null },
      waits: ["decode"],
      routers: { decode: { id: "dr", mode: "kv" } },
      decode_constraints: null,
      ignored: [],
    });

    expect(text).toContain("decode: would wait for room  (kv, by dr)");
    expect(text).toContain("and 5 more; --json shows all");
    expect(text).not.toContain("prefill:");
  });

  it("is an error alone where nothing else is known", () => {
    const error = {
      message: "no such model",
      code: "model_not_found",
      param: "model",
      stage: "received",
    };

    expect(routeText({ error })).toBe(
      "refused: no such model\n         model_not_found in received\n",
    );
  });
});
