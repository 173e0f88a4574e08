import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatUtc } from "../../src/template/format-utc.ts";

describe("formatUtc", () => {
  it("agrees with Date for any time", () => {
    const times = fc.integer({ min: Date.UTC(1800, 0), max: Date.UTC(2600, 0) });
    fc.assert(
      fc.property(times, (epochMs) => {
        const date = new Date(epochMs);
        expect(formatUtc(epochMs, "%Y-%m-%dT%H:%M:%S")).toBe(date.toISOString().slice(0, 19));
        const text = date.toUTCString();
        expect(formatUtc(epochMs, "%a, %d %b %Y %H:%M:%S GMT")).toBe(text);
      }),
    );
  });

  it("knows long names and leaves other directives", () => {
    expect(formatUtc(0, "%A %B %y 100%% %Q")).toBe("Thursday January 70 100% %Q");
  });
});
