import { describe, expect, it } from "vitest";
import { textTable } from "../../src/bus-tools/text-table.ts";

describe("a table", () => {
  it("has columns as wide as their widest cell, and no blanks at the end", () => {
    expect(
      textTable(
        ["A", "LONG"],
        [
          ["wide", "x"],
          ["", ""],
        ],
        "none",
      ),
    ).toBe("A     LONG\nwide  x\n");
  });

  it("says so when there are no rows", () => {
    expect(textTable(["A"], [], "none")).toBe("none");
  });
});
