import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { queryForm, type RoutingBody, readRouting } from "../../src/http/read-routing.ts";
import type { RequestHeaders } from "../../src/http/routing-headers.ts";

const rulesOf = (body: RoutingBody, headers: RequestHeaders = {}) =>
  readRouting(body, headers)?.rules;
const saltOf = (body: RoutingBody, headers: RequestHeaders = {}) =>
  readRouting(body, headers)?.cacheSalt;

describe("what a request says about its routing", () => {
  it("is nothing where it says nothing", () => {
    expect(readRouting({}, {})).toBeUndefined();
    expect(
      readRouting({ baton: {}, nvext: {}, cache_salt: "" }, { "x-tenant-id": "" }),
    ).toBeUndefined();
    expect(
      readRouting(
        {
          baton: { constraints: { required: [], preferred: {} }, router: {} },
          nvext: { agent_hints: { priority: 0, speculative_prefill: false } },
        },
        {},
      ),
    ).toBeUndefined();
  });

  it("comes from Baton's own object", () => {
    expect(
      readRouting(
        {
          baton: {
            session: { id: "s", parent: "p" },
            allowed_workers: ["w-1", "w-2"],
            prefill_worker: "w-1",
            prefill_dp_rank: 1,
            decode_worker: "w-2",
            decode_dp_rank: 0,
            constraints: { required: ["gpu=a"], preferred: { fast: 0.5 } },
            router: {
              overlap_score_credit: 0.5,
              prefill_load_scale: 2,
              router_temperature: 0.1,
              assume_kv_reuse: false,
              track_prefill_tokens: true,
            },
            expected_output_tokens: 300,
          },
        },
        {},
      ),
    ).toEqual({
      rules: {
        session: { id: "s", parent: "p" },
        allowedWorkers: ["w-1", "w-2"],
        prefillWorkerId: "w-1",
        prefillDpRank: 1,
        decodeWorkerId: "w-2",
        decodeDpRank: 0,
        constraints: { requiredTaints: ["gpu=a"], preferredTaints: { fast: 0.5 } },
        overrides: {
          overlapScoreCredit: 0.5,
          prefillLoadScale: 2,
          routerTemperature: 0.1,
          assumeKvReuse: false,
          trackPrefillTokens: true,
        },
        expectedOutputTokens: 300,
      },
      cacheSalt: null,
      said: {
        prefillWorkerId: "baton.prefill_worker",
        prefillDpRank: "baton.prefill_dp_rank",
        decodeWorkerId: "baton.decode_worker",
        decodeDpRank: "baton.decode_dp_rank",
      },
      ignored: [],
    });
  });

  it("comes from nvext where it means the same", () => {
    const nvext = {
      prefill_worker_id: "p",
      prefill_dp_rank: 3,
      decode_worker_id: "d",
      dp_rank: 1,
      routing_constraints: { required_taints: ["gpu=a"], preferred_taints: { fast: -1 } },
      agent_hints: { osl: 40 },
    };

    expect(rulesOf({ nvext })).toEqual({
      prefillWorkerId: "p",
      prefillDpRank: 3,
      decodeWorkerId: "d",
      decodeDpRank: 1,
      constraints: { requiredTaints: ["gpu=a"], preferredTaints: { fast: -1 } },
      expectedOutputTokens: 40,
    });
  });

  it("is the baton object's where nvext says something else", () => {
    const nvext = {
      decode_worker_id: "theirs",
      dp_rank: 1,
      agent_hints: { osl: 40 },
      routing_constraints: { required_taints: ["theirs"], preferred_taints: { theirs: 1 } },
    };
    const baton = {
      decode_worker: "ours",
      decode_dp_rank: 0,
      expected_output_tokens: 7,
      constraints: { required: ["ours"] },
    };

    expect(rulesOf({ nvext, baton })).toEqual({
      decodeWorkerId: "ours",
      decodeDpRank: 0,
      expectedOutputTokens: 7,
      constraints: { requiredTaints: ["ours"], preferredTaints: { theirs: 1 } },
    });
  });
});

describe("a general pin", () => {
  it("holds for both legs", () => {
    expect(rulesOf({ nvext: { backend_instance_id: "w", dp_rank: 2 } })).toEqual({
      prefillWorkerId: "w",
      prefillDpRank: 2,
      decodeWorkerId: "w",
      decodeDpRank: 2,
    });
    expect(rulesOf({}, { "x-dynamo-worker-instance-id": "w", "x-dp-rank": "2" })).toEqual({
      prefillWorkerId: "w",
      prefillDpRank: 2,
      decodeWorkerId: "w",
      decodeDpRank: 2,
    });
  });

  it("gives way to a leg's own, in the body too", () => {
    const headers = { "x-worker-instance-id": "d" };

    expect(rulesOf({ nvext: { prefill_worker_id: "p" } }, headers)).toEqual({
      prefillWorkerId: "p",
      decodeWorkerId: "d",
    });
    expect(rulesOf({ baton: { decode_worker: "other" } }, headers)).toEqual({
      prefillWorkerId: "d",
      decodeWorkerId: "d",
    });
    expect(rulesOf({ nvext: { backend_instance_id: "w", decode_worker_id: "d" } })).toEqual({
      prefillWorkerId: "w",
      decodeWorkerId: "d",
    });
  });

  it("gives its rank to a prefill worker that is named, and to none that is still to be chosen", () => {
    expect(rulesOf({ nvext: { decode_worker_id: "d", dp_rank: 1 } })).toEqual({
      decodeWorkerId: "d",
      decodeDpRank: 1,
    });
    expect(rulesOf({ nvext: { dp_rank: 1 } })).toEqual({ decodeDpRank: 1 });
    expect(
      rulesOf({ nvext: { prefill_worker_id: "p", decode_worker_id: "d", dp_rank: 1 } }),
    ).toMatchObject({ prefillDpRank: 1, decodeDpRank: 1 });
  });

  it("takes the highest prefill rank for none", () => {
    const nvext = { backend_instance_id: "w", dp_rank: 1, prefill_dp_rank: 2 ** 32 - 1 };

    expect(rulesOf({ nvext })).toMatchObject({ prefillDpRank: 1 });
    expect(
      rulesOf(
        { nvext: { backend_instance_id: "w", prefill_dp_rank: 4 } },
        { "x-prefill-dp-rank": "4294967295" },
      ),
    ).toMatchObject({ prefillDpRank: 4 });
  });
});

describe("headers", () => {
  it("beat the body", () => {
    const body: RoutingBody = {
      baton: { prefill_worker: "p", decode_worker: "d", prefill_dp_rank: 1, decode_dp_rank: 1 },
    };
    const headers = {
      "x-dynamo-worker-instance-id": "d2",
      "x-dynamo-prefill-instance-id": "p2",
      "x-dynamo-dp-rank": "0",
      "x-dynamo-prefill-dp-rank": "3",
    };

    expect(readRouting(body, headers)).toMatchObject({
      rules: {
        prefillWorkerId: "p2",
        prefillDpRank: 3,
        decodeWorkerId: "d2",
        decodeDpRank: 0,
      },
      said: {
        prefillWorkerId: "x-dynamo-prefill-instance-id",
        decodeWorkerId: "x-dynamo-worker-instance-id",
        decodeDpRank: "x-dynamo-dp-rank",
        prefillDpRank: "x-dynamo-prefill-dp-rank",
      },
    });
  });
});

describe("the cache salt", () => {
  it("is the header's, then nvext's, then the body's, and an empty one is none", () => {
    const body: RoutingBody = { nvext: { cache_salt: "b" }, cache_salt: "c" };

    expect(saltOf(body, { "x-tenant-id": "a" })).toBe("a");
    expect(saltOf(body, { "x-tenant-id": "" })).toBe("b");
    expect(saltOf({ nvext: { cache_salt: "" }, cache_salt: "c" })).toBe("c");
    expect(saltOf({ cache_salt: "c" })).toBe("c");
    expect(readRouting({ cache_salt: "c" }, {})?.rules).toBeNull();
  });
});

describe("a session", () => {
  it("of the headers replaces the body's whole", () => {
    const body: RoutingBody = { baton: { session: { id: "b", parent: "bp" } } };

    expect(rulesOf(body)?.session).toEqual({ id: "b", parent: "bp" });
    expect(rulesOf(body, { "x-dynamo-session-id": "h" })?.session).toEqual({ id: "h" });
    expect(
      rulesOf(body, { "x-baton-session-id": "h", "x-baton-parent-session-id": "hp" })?.session,
    ).toEqual({ id: "h", parent: "hp" });
    expect(rulesOf(body, { "x-dynamo-parent-session-id": "hp" })?.session).toEqual({
      id: "b",
      parent: "hp",
    });
  });

  it("has an id of its own", () => {
    const refused = () => readRouting({}, { "x-dynamo-parent-session-id": "p" });

    expect(refused).toThrow(ServingError);
    expect(refused).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        details: expect.objectContaining({ param: "x-dynamo-parent-session-id" }),
      }),
    );
  });
});

describe("fields without effect", () => {
  it("are named where they are set to something", () => {
    const nvext = {
      agent_hints: {
        priority: -1,
        strict_priority: 2,
        speculative_prefill: true,
        latency_sensitivity: 0.5,
      },
      request_timestamp_ms: 5,
      router: { ttft_target: 100 },
      annotations: ["query_instance_id:", "llm_metrics"],
    };

    expect(readRouting({ nvext }, { "x-dynamo-request-priority": "1" })?.ignored).toEqual([
      "x-dynamo-request-priority",
      "nvext.agent_hints.priority",
      "nvext.agent_hints.strict_priority",
      "nvext.agent_hints.speculative_prefill",
      "nvext.agent_hints.latency_sensitivity",
      "nvext.request_timestamp_ms",
      "nvext.router",
      "nvext.annotations",
    ]);
  });
});

describe("a query for a route", () => {
  it("is asked in either form", () => {
    expect(queryForm({})).toBeNull();
    expect(queryForm({ baton: { query_only: false } })).toBeNull();
    expect(queryForm({ baton: { query_only: true } })).toBe("baton");
    expect(queryForm({ nvext: { annotations: ["a", "query_instance_id:"] } })).toBe("nvext");
    expect(queryForm({ nvext: { annotations: ["query_instance_id:7"] } })).toBe("nvext");
    expect(queryForm({ nvext: { annotations: ["query_instance_id"] } })).toBeNull();
  });
});
