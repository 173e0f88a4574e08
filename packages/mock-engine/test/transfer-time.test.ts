import { expect, it } from "vitest";
import { kvBytesPerToken, transferMs } from "../src/transfer-time.ts";

it("moves 1,000 tokens of 131,072 bytes over 64 GB/s in 2.048 ms", () => {
  const bytesPerToken = kvBytesPerToken({
    layers: 32,
    kvHeads: 8,
    headDim: 128,
    bytesPerNumber: 2,
  });
  expect(bytesPerToken).toBe(131_072);
  expect(transferMs(1000, bytesPerToken, 64)).toBeCloseTo(2.048, 9);
});

it("takes no time at 0 GB/s", () => {
  expect(transferMs(1000, 131_072, 0)).toBe(0);
});
