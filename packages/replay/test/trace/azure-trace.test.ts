import { describe, expect, it } from "vitest";
import { parseAzureTrace } from "../../src/trace/azure-trace.ts";

const header = "TIMESTAMP,ContextTokens,GeneratedTokens";
const parse = (...lines: readonly string[]) => parseAzureTrace([header, ...lines]);

describe("Azure's format", () => {
  it("has arrivals and lengths, and no contents", () => {
    const rows = parse(
      "2023-11-16 18:17:03.9799600,4808,10",
      "2023-11-16 18:17:04.0319600,3180,8\r",
    );

    expect(rows.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
      [4808, 10],
      [3180, 8],
    ]);
    expect(rows[1]?.stampMs).toBeCloseTo(52, 3);
    expect(rows.every(({ hashIds }) => hashIds === null)).toBe(true);
  });

  it.each([
    ["a month's end", "2023-11-30 23:59:59", "2023-12-01 00:00:00", 1_000],
    ["a leap day", "2024-02-28 00:00:00", "2024-03-01 00:00:00", 2 * 86_400_000],
    ["a February without one", "2023-02-28 00:00:00", "2023-03-01 00:00:00", 86_400_000],
    ["a year's end", "2023-12-31 12:00:00", "2024-01-01 12:00:00", 86_400_000],
  ])("goes on over %s", (_, first, second, apartMs) => {
    expect(parse(`${first},1,1`, `${second},1,1`)[1]?.stampMs).toBeCloseTo(apartMs, 3);
  });

  it.each([
    ["a time that is none", "yesterday,1,1", /line 2: TIMESTAMP is not a time: "yesterday"/],
    ["an empty prompt", "2023-11-16 18:17:03,0,1", /line 2: ContextTokens .*, not "0"/],
    ["no output", "2023-11-16 18:17:03,5", /line 2: GeneratedTokens .*, not ""/],
  ])("refuses %s, naming line and field", (_, text, problem) => {
    expect(() => parse(text)).toThrow(problem);
  });
});
