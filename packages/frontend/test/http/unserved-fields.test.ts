import { describe, expect, it } from "vitest";
import { refuseUnservedFields } from "../../src/http/unserved-fields.ts";

const refusing = (body: Record<string, unknown>) => () => refuseUnservedFields("completions", body);

describe("fields that are not served", () => {
  it("are refused by name when they would change the answer", () => {
    expect(refusing({ guided_json: {} })).toThrow(
      expect.objectContaining({
        code: "unsupported",
        details: expect.objectContaining({ param: "guided_json" }),
      }),
    );
    expect(refusing({ tool_choice: "required" })).toThrow();
    expect(refusing({ reasoning_effort: "high" })).toThrow();
    expect(refusing({ include_stop_str_in_output: true })).toThrow();
    expect(refusing({ tools: {} })).toThrow();
    expect(refusing({ vllm_xargs: [] })).toThrow();
  });

  it("are let by when they say what is the case anyway", () => {
    expect(
      refusing({ functions: [], tool_choice: "auto", suffix: "", best_of: 1, audio: null }),
    ).not.toThrow();
  });

  it.each([
    "chat_template_kwargs",
    "mm_processor_kwargs",
    "media_io_kwargs",
    "features",
    "extra_args",
  ])("are let by when %s is an empty map", (field) => {
    expect(refusing({ [field]: {} })).not.toThrow();
    expect(refusing({ [field]: [] })).toThrow();
  });

  it("are refused in a chat that a completion has in another way", () => {
    expect(() => refuseUnservedFields("chat", { best_of: 2 })).toThrow();
    expect(() => refuseUnservedFields("chat", { best_of: 1 })).not.toThrow();
  });

  it("are none of those that a map has by itself", () => {
    expect(refusing({ toString: 1, __proto__: 1, hasOwnProperty: 2 })).not.toThrow();
  });

  it("are never a handoff of the client's own", () => {
    for (const field of [
      "kv_transfer_params",
      "bootstrap_host",
      "disaggregated_params",
      "handoff",
    ]) {
      expect(refusing({ [field]: null })).toThrow(
        expect.objectContaining({ code: "invalid_request" }),
      );
    }
  });
});
