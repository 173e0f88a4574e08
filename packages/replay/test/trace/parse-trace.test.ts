import { describe, expect, it } from "vitest";
import { parseTrace } from "../../src/trace/parse-trace.ts";

describe("a trace", () => {
  it("is read by what its first line says", () => {
    const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03,4808,10\r\n";
    const mooncake = '{"timestamp":0,"input_length":8,"output_length":2,"hash_ids":[1]}\n';

    expect(parseTrace(azure, 512)).toMatchObject([{ promptTokens: 4808, hashIds: null }]);
    expect(parseTrace(mooncake, 512)).toMatchObject([{ promptTokens: 8 }]);
  });

  it("must have requests", () => {
    expect(() => parseTrace("\n", 512)).toThrow("the trace has no requests");
  });
});
