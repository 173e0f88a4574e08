import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { isWorkerId, labelProblem } from "../../src/http/routing-schema.ts";
import { bodyFrame, bodyParser } from "../support/bodies.ts";

function refusalOf(fields: object): string {
  try {
    bodyParser.parse("completions", { model: "m", prompt: "Hi", ...fields }, bodyFrame);
    return "taken";
  } catch (caught) {
    const { code, details, message } = ServingError.from(caught);
    const param = details.param ?? "-";
    return message.startsWith(`${param} `)
      ? `${code} ${param}:${message.slice(param.length)}`
      : `${code} ${param}: ${message}`;
  }
}

describe("what a body says about routing", () => {
  it("may be null wherever it may be absent", () => {
    const baton = {
      include: null,
      query_only: null,
      session: null,
      allowed_workers: null,
      prefill_worker: null,
      decode_worker: null,
      prefill_dp_rank: null,
      decode_dp_rank: null,
      constraints: { required: null, preferred: null },
      router: { overlap_score_credit: null, assume_kv_reuse: null },
      expected_output_tokens: null,
    };
    const nvext = {
      annotations: null,
      backend_instance_id: null,
      dp_rank: null,
      cache_salt: null,
      routing_constraints: null,
      agent_hints: { osl: null, priority: null },
      extra_fields: null,
      token_data: null,
      greed_sampling: false,
    };

    expect(refusalOf({ baton, nvext, cache_salt: null })).toBe("taken");
    expect(refusalOf({ nvext: {}, baton: {} })).toBe("taken");
  });

  it.each<readonly [object, string]>([
    [{ baton: [] }, "invalid_request baton: must be an object"],
    [{ baton: { worker: "w" } }, "invalid_request baton.worker: is not known"],
    [
      { baton: { session: { id: "s", age: 1 } } },
      "invalid_request baton.session.age: is not known",
    ],
    [{ baton: { session: "s" } }, "invalid_request baton.session: must be an object"],
    [{ baton: { session: { parent: "p" } } }, "invalid_request baton.session.id: is required"],
    [{ baton: { session: { id: "" } } }, "invalid_request baton.session.id: must not be empty"],
    [
      { baton: { session: { id: "é".repeat(129) } } },
      "invalid_request baton.session.id: must be at most 256 bytes",
    ],
    [
      { baton: { session: { id: "\ud800" } } },
      "invalid_request baton.session.id: must be well-formed Unicode",
    ],
    [
      { baton: { allowed_workers: [] } },
      "invalid_request baton.allowed_workers: must hold at least one worker",
    ],
    [
      { baton: { allowed_workers: ["a b"] } },
      "invalid_request baton.allowed_workers[0]: must be a worker's id: 1 to 64 of A-Z a-z 0-9 _ -",
    ],
    [{ baton: { prefill_worker: 7 } }, "invalid_request baton.prefill_worker: must be a string"],
    [{ baton: { decode_dp_rank: -1 } }, "invalid_request baton.decode_dp_rank: must be at least 0"],
    [
      { baton: { constraints: { taints: [] } } },
      "invalid_request baton.constraints.taints: is not known",
    ],
    [
      { baton: { constraints: { required: "gpu" } } },
      "invalid_request baton.constraints.required: must be an array of taints",
    ],
    [
      { baton: { constraints: { preferred: { a: "1" } } } },
      "invalid_request baton.constraints.preferred.a: must be a number",
    ],
    [
      { baton: { router: { overlap_score_credit: -0.1 } } },
      "invalid_request baton.router.overlap_score_credit: must be at least 0",
    ],
    [
      { baton: { router: { assume_kv_reuse: 1 } } },
      "invalid_request baton.router.assume_kv_reuse: must be true or false",
    ],
    [
      { baton: { router: { temperature: 1 } } },
      "invalid_request baton.router.temperature: is not known",
    ],
    [
      { baton: { expected_output_tokens: 0 } },
      "invalid_request baton.expected_output_tokens: must be at least 1",
    ],
    [{ nvext: "x" }, "invalid_request nvext: must be an object"],
    [{ nvext: { worker_id: "w" } }, "invalid_request nvext.worker_id: is not known"],
    [
      { nvext: { routing_constraints: { required: [] } } },
      "invalid_request nvext.routing_constraints.required: is not known",
    ],
    [
      { nvext: { agent_hints: { speed: 1 } } },
      "invalid_request nvext.agent_hints.speed: is not known",
    ],
    [
      { nvext: { extra_fields: ["engine_data"] } },
      "invalid_request nvext.extra_fields[0]: must be 'worker_id' or 'timing' here",
    ],
    [{ nvext: { annotations: [1] } }, "invalid_request nvext.annotations[0]: must be a string"],
    [{ nvext: { dp_rank: 2 ** 32 } }, "invalid_request nvext.dp_rank: must be at most 4294967295"],
    [
      { nvext: { greed_sampling: true } },
      "unsupported nvext.greed_sampling: is not supported here",
    ],
    [{ nvext: { token_data: [1] } }, "unsupported nvext.token_data: is not supported here"],
    [
      { nvext: { use_raw_prompt: true } },
      "unsupported nvext.use_raw_prompt: is not supported here",
    ],
    [
      { nvext: { max_thinking_tokens: 5 } },
      "unsupported nvext.max_thinking_tokens: is not supported here",
    ],
    [
      { nvext: { metadata_upload: {} } },
      "unsupported nvext.metadata_upload: is not supported here",
    ],
    [{ cache_salt: 5 }, "invalid_request cache_salt: must be a string"],
    [{ cache_salt: "x".repeat(1_025) }, "invalid_request cache_salt: must be at most 1024 bytes"],
    [
      { nvext: { cache_salt: "\udc00" } },
      "invalid_request nvext.cache_salt: must be well-formed Unicode",
    ],
  ])("is refused: %j", (fields, refusal) => {
    expect(refusalOf(fields)).toBe(refusal);
  });
});

describe("a label", () => {
  it("is bounded in bytes and well-formed", () => {
    expect(labelProblem("é".repeat(4), 8)).toBeNull();
    expect(labelProblem("é".repeat(4), 7)).toBe("must be at most 7 bytes");
    expect(labelProblem("\ud800", 7)).toBe("must be well-formed Unicode");
  });
});

describe("a worker's id", () => {
  it("is one token of a subject", () => {
    expect(isWorkerId("w-1_A")).toBe(true);
    for (const text of ["", "a.b", "a b", "*", "x".repeat(65)])
      expect(isWorkerId(text)).toBe(false);
  });
});
