import { describe, expect, it } from "vitest";
import { traceFault } from "../../src/trace/trace-fault.ts";

describe("a fault of a trace", () => {
  it("is the user's, and names line and field", () => {
    const fault = traceFault(7, "hash_ids", "has 2 ids");

    expect(fault.code).toBe("config_invalid");
    expect(fault.message).toBe("the trace's line 7: hash_ids has 2 ids");
  });
});
