import { describe, expect, it } from "vitest";
import { parseMooncakeTrace } from "../../src/trace/mooncake-trace.ts";

const parse = (...lines: readonly string[]) => parseMooncakeTrace(lines, 512);
const line = (fields: Readonly<Record<string, unknown>>) =>
  JSON.stringify({
    timestamp: 0,
    input_length: 600,
    output_length: 3,
    hash_ids: [1, 2],
    ...fields,
  });

describe("Mooncake's format", () => {
  it("is one request a line", () => {
    const rows = parse(line({ timestamp: 27 }), "", line({ session_id: 4, delay: 9.5 }));

    expect(rows).toEqual([
      {
        line: 1,
        stampMs: 27,
        promptTokens: 600,
        outputTokens: 3,
        hashIds: Float64Array.of(1, 2),
        sessionId: null,
        delayMs: null,
      },
      {
        line: 3,
        stampMs: 0,
        promptTokens: 600,
        outputTokens: 3,
        hashIds: Float64Array.of(1, 2),
        sessionId: "4",
        delayMs: 9.5,
      },
    ]);
  });

  it("has other names for its fields", () => {
    const fields = { created_time: 5, input_tokens: 10, output_tokens: 2, delay_ms: 1 };

    const [row] = parse(JSON.stringify({ ...fields, session_id: "s" }));

    expect(row).toMatchObject({ stampMs: 5, promptTokens: 10, outputTokens: 2, delayMs: 1 });
    expect(row?.hashIds).toBeNull();
  });

  it("needs no time of a turn that follows another", () => {
    const later = line({ timestamp: undefined, session_id: "s", delay_ms: 3 });

    expect(parse(line({ session_id: "s" }), later)[1]?.stampMs).toBeNull();
    expect(() => parse(later)).toThrow(/line 1: timestamp is missing/);
  });

  it.each([
    ["text that is no JSON", "{", /line 1: text is not JSON/],
    ["a list", "[1]", /line 1: text is not a JSON object/],
    ["no length", line({ input_length: undefined }), /input_length or input_tokens is missing/],
    ["an empty prompt", line({ input_length: 0 }), /input_length must be .* at least 1, not 0/],
    ["half a token", line({ output_length: 1.5 }), /output_length must be .*, not 1.5/],
    ["a length as text", line({ input_length: "9" }), /input_length must be .*, not "9"/],
    ["a time before all", line({ timestamp: -1 }), /timestamp must be 0 or more, not -1/],
    ["an id that is none", line({ hash_ids: [1, -2] }), /hash_ids must be a list of whole numbers/],
    [
      "too few ids",
      line({ hash_ids: [1] }),
      /hash_ids has 1 ids, but 600 tokens in blocks of 512 are 2/,
    ],
    ["a session that is none", line({ session_id: {} }), /session_id must be text or a number/],
  ])("refuses %s, naming line and field", (_, text, problem) => {
    expect(() => parse(text)).toThrow(problem);
  });

  it("counts ids by the length that it is told", () => {
    const text = line({ input_length: 40, hash_ids: [1, 2, 3] });

    expect(() => parseMooncakeTrace([text], 16)).not.toThrow();
    expect(() => parseMooncakeTrace([text], 512)).toThrow(/hash_ids/);
  });
});
