import { describe, expect, it } from "vitest";
import {
  compareCachedTokens,
  compareDisturbed,
  compareServing,
} from "../support/simulation/paired-runs.ts";

const timeoutMs = 120_000;
const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

async function differences(
  count: number,
  compare: (seed: number) => Promise<string[]>,
): Promise<string[]> {
  const found: string[] = [];
  for (const seed of seeds(count)) {
    for (const difference of await compare(seed)) found.push(`seed ${seed}: ${difference}`);
  }
  return found;
}

describe("pairs of simulated clusters", () => {
  it("answer the same with and without disaggregation", { timeout: timeoutMs }, async () => {
    expect(await differences(6, compareServing)).toEqual([]);
  });

  it("find the same in their caches with and without disaggregation", {
    timeout: timeoutMs,
  }, async () => {
    expect(await differences(5, compareCachedTokens)).toEqual([]);
  });

  it("answer whom a disturbance does not concern as without it", {
    timeout: timeoutMs,
  }, async () => {
    expect(await differences(8, compareDisturbed)).toEqual([]);
  });
});
