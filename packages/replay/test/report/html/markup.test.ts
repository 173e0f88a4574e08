import { describe, expect, it } from "vitest";
import { coordinate, digits, escapeText, timeText } from "../../../src/report/html/markup.ts";

describe("markup", () => {
  it("shows text as it is, also in quotes", () => {
    expect(escapeText(`<b title="x">&'`)).toBe("&lt;b title=&quot;x&quot;&gt;&amp;&#39;");
  });

  it("has coordinates to a tenth", () => {
    expect([coordinate(1.04), coordinate(1.06), coordinate(-3)]).toEqual(["1", "1.1", "-3"]);
  });

  it("writes numbers of about three digits, and times in what suits them", () => {
    expect([0, 0.12345, 1.005, 12.34, 1234.5].map(digits)).toEqual([
      "0",
      "0.123",
      "1",
      "12.3",
      "1235",
    ]);
    expect([0.5, 352.9, 1_000, 3_153].map(timeText)).toEqual(["0.5 ms", "353 ms", "1 s", "3.15 s"]);
  });
});
