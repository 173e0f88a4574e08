import { describe, expect, it } from "vitest";
import { rejectionError } from "../../../src/engines/mock/rejection.ts";

describe("rejectionError", () => {
  it.each([
    ["prompt_too_long", "context_length_exceeded"],
    ["exceeds_pool", "context_length_exceeded"],
    ["empty_prompt", "invalid_request"],
    ["hashes_mismatch", "malformed_message"],
    ["first_tokens_mismatch", "handoff_refused"],
  ] as const)("calls %s %s", (reason, code) => {
    expect(rejectionError(reason)).toMatchObject({ code, details: { reason } });
  });

  it("names the client's field when it asks for too many choices", () => {
    expect(rejectionError("too_many_sequences")).toMatchObject({
      code: "unsupported",
      details: { param: "n", problem: expect.stringContaining("runs at once") },
    });
  });

  it("tells a prompt that is too long for the blocks from one that is too long for the context", () => {
    const [blocks, context] = [rejectionError("exceeds_pool"), rejectionError("prompt_too_long")];

    expect(blocks.message).toContain("KV blocks");
    expect(context.message).not.toBe(blocks.message);
  });
});
