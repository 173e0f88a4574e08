import { describe, expect, it } from "vitest";
import { progressBar } from "../src/progress-bar.ts";

function barOn(isTerminal: boolean) {
  const written: string[] = [];
  return { bar: progressBar({ isTerminal, err: (text) => void written.push(text) }), written };
}

describe("a progress bar", () => {
  it("is drawn where people look, when it looks different", () => {
    const { bar, written } = barOn(true);

    for (const share of [0, 0.001, 0.5, 0.5, 1]) bar.show(share);
    bar.clear();

    expect(written).toHaveLength(4);
    expect(written[1]).toMatch(/█{15}░{15} 50 %$/);
    expect(written[2]).toMatch(/█{30} 100 %$/);
    expect(written[3]).toBe("\r\u001b[2K");
  });

  it("writes nothing where nobody looks", () => {
    const { bar, written } = barOn(false);

    bar.show(0.5);
    bar.clear();

    expect(written).toEqual([]);
  });
});
