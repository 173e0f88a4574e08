import { describe, expect, it } from "vitest";
import {
  chargedPrefillTokens,
  fixedTiming,
  polynomialDecodeMs,
  polynomialPrefillMs,
  polynomialTiming,
} from "../src/timing-model.ts";

const prefill = { count: 1, contextTokens: 1024, prefixTokens: 0, largestShare: 1 };
const decode = { count: 4, contextTokens: 500, capacityTokens: 1000 };

describe("the polynomial", () => {
  it("prefills 1,024 tokens in 32.4907 ms and none in 0", () => {
    // 4.209989e-07 * 1024^2 + 1.518344e-02 * 1024 + 16.50142
    expect(polynomialPrefillMs(1024)).toBeCloseTo(0.441449 + 15.547843 + 16.50142, 5);
    expect(polynomialPrefillMs(0)).toBe(0);
  });

  it("prefills 8,192 tokens in 169.136 ms", () => {
    expect(polynomialPrefillMs(8192)).toBeCloseTo(28.25279 + 124.38274 + 16.50142, 3);
  });

  it("decodes an empty, a half full and a full pool in 5.74, 26.31 and 34.01 ms", () => {
    expect(polynomialDecodeMs(0)).toBeCloseTo(5.74, 9);
    expect(polynomialDecodeMs(0.5)).toBeCloseTo(26.31, 9);
    expect(polynomialDecodeMs(1)).toBeCloseTo(34.01, 9);
  });

  it("never decodes in less than 1 ms", () => {
    expect(polynomialDecodeMs(-1)).toBe(1);
  });
});

describe("chargedPrefillTokens", () => {
  it("takes integer means over the pass", () => {
    // mean length floor(301/2) = 150, mean prefix floor(65/2) = 32
    const batch = { count: 2, contextTokens: 301, prefixTokens: 65, largestShare: 1 };
    expect(chargedPrefillTokens(batch)).toBe(2 * (150 - 32));
  });
});

describe("polynomialTiming", () => {
  it("charges what is not cached", () => {
    const timing = polynomialTiming();
    const cached = { ...prefill, prefixTokens: 960 };
    expect(timing.prefillMs(cached)).toBeCloseTo(polynomialPrefillMs(64), 9);
  });

  it("divides by the speed-up, decode by both", () => {
    const timing = polynomialTiming({ speedup: 2, decodeSpeedup: 5 });
    expect(timing.prefillMs(prefill)).toBeCloseTo(polynomialPrefillMs(1024) / 2, 9);
    expect(timing.decodeMs(decode)).toBeCloseTo(26.31 / 10, 9);
  });

  it("does not scale by a speed-up of 0 or less", () => {
    const timing = polynomialTiming({ speedup: 0, decodeSpeedup: -1 });
    expect(timing.prefillMs(prefill)).toBeCloseTo(polynomialPrefillMs(1024), 9);
    expect(timing.decodeMs(decode)).toBeCloseTo(26.31, 9);
  });

  it("counts a pool as full at most", () => {
    const crowded = { ...decode, contextTokens: 5000 };
    expect(polynomialTiming().decodeMs(crowded)).toBeCloseTo(34.01, 9);
  });
});

describe("fixedTiming", () => {
  it("takes a constant time per step and per prompt, which chunks share", () => {
    const timing = fixedTiming({ prefillMs: 40, decodeMs: 3 });
    expect(timing.prefillMs({ ...prefill, largestShare: 0.25 })).toBe(10);
    expect(timing.prefillMs({ ...prefill, count: 3 })).toBe(40);
    expect(timing.decodeMs(decode)).toBe(3);
  });
});
