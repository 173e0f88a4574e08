import { describe, expect, it } from "vitest";
import { type Prefill, PrefillLoad } from "../../src/load/prefill-load.ts";

const prefill = (tokens: number, durationMs: number | null = null): Prefill => ({
  rank: 0,
  tokens,
  durationMs,
});

function loadOf(...prefills: readonly Prefill[]): PrefillLoad {
  const load = new PrefillLoad();
  load.openRank(0);
  for (const one of prefills) load.add(one, 0);
  return load;
}

it("counts in full until the prompt is computed where no duration is known", () => {
  const [first, second] = [prefill(100), prefill(50)];
  const load = loadOf(first, second);

  expect(load.tokensOf(0, 9_999)).toBe(150);
  load.complete(first, 9_999);
  load.complete(first, 9_999);
  expect(load.tokensOf(0, 9_999)).toBe(50);
  expect(load.tokensOf(1, 0)).toBe(0);
});

describe("with durations", () => {
  it("fades at the pace of the oldest, also past its end", () => {
    const load = loadOf(prefill(100, 10), prefill(100, 40));

    expect([0, 5, 10, 15, 20, 21].map((nowMs) => load.tokensOf(0, nowMs))).toEqual([
      200, 150, 100, 50, 0, 0,
    ]);
  });

  it("rounds what is done down", () => {
    expect(loadOf(prefill(10, 3)).tokensOf(0, 1)).toBe(7);
  });

  it("starts to count from the next when the oldest is done", () => {
    const first = prefill(100, 10);
    const load = loadOf(first, prefill(100, 40));
    load.complete(first, 12);

    expect([12, 32, 52].map((nowMs) => load.tokensOf(0, nowMs))).toEqual([100, 50, 0]);
  });

  it("moves the start by the duration of another that is done, but not beyond now", () => {
    const [second, third] = [prefill(40, 8), prefill(20, 30)];
    const load = loadOf(prefill(100, 20), second, third);

    load.complete(second, 10);
    expect(load.tokensOf(0, 10)).toBe(120 - Math.floor((100 * 2) / 20));
    load.complete(third, 12);
    expect(load.tokensOf(0, 12)).toBe(100);
    expect(load.tokensOf(0, 17)).toBe(75);
  });

  it("fades the oldest alone where one other has none, rounding what is left up", () => {
    const load = loadOf(prefill(10, 3), prefill(50));

    expect([0, 1, 3, 9].map((nowMs) => load.tokensOf(0, nowMs))).toEqual([60, 57, 50, 50]);
  });

  it("fades nothing while the oldest has none", () => {
    const first = prefill(50);
    const load = loadOf(first, prefill(10, 4));

    expect(load.tokensOf(0, 100)).toBe(60);
    load.complete(first, 100);
    expect(load.tokensOf(0, 102)).toBe(5);
  });

  it("takes a duration of nothing for none, and a clock that goes back for one that stands", () => {
    expect(loadOf(prefill(10, 0)).tokensOf(0, 5)).toBe(10);
    expect(loadOf(prefill(10, 5)).tokensOf(0, -5)).toBe(10);
  });
});
