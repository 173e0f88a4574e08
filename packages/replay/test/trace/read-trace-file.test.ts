import { describe, expect, it } from "vitest";
import { readTraceFile } from "../../src/trace/read-trace-file.ts";
import { dynamoTrace } from "../support/builders.ts";

describe("a trace's file", () => {
  it("may be plain or gzipped", () => {
    expect(readTraceFile(dynamoTrace("mooncake_trace_tiny.jsonl"), 512)).toHaveLength(2);
    expect(readTraceFile(dynamoTrace("mooncake_trace_1000.jsonl.gz"), 512)).toHaveLength(1_000);
  });

  it("must be there", () => {
    expect(() => readTraceFile("no/such/file", 512)).toThrow(/cannot read no\/such\/file: ENOENT/);
  });
});
