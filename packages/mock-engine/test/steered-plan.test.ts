import { describe, expect, it } from "vitest";
import { mockCandidates } from "../src/mock-logprobs.ts";
import { SteeredPlan, type Steering } from "../src/steered-plan.ts";

const planned = [10, 11, 12, 13];
const plan = { next: (index: number) => planned[index] };
const steering: Steering = {
  promptHash: 0xdeadbeef,
  choice: 0,
  vocabularySize: 1_000,
  bias: new Map(),
  isBanned: () => false,
};

function steered(change: Partial<Steering>): (number | undefined)[] {
  const steeredPlan = new SteeredPlan(plan, { ...steering, ...change });
  return [0, 1, 2, 3, 4].map((index) => steeredPlan.next(index));
}

const runnerUp = (position: number): number | undefined =>
  mockCandidates({ ...steering, position, token: planned[position] ?? 0 })[1]?.token;

describe("SteeredPlan", () => {
  it("is the plan where nothing steers it", () => {
    expect(steered({})).toEqual([...planned, undefined]);
  });

  it("says a token whose bias is large, and nothing else", () => {
    expect(steered({ bias: new Map([[700, 100]]) })).toEqual([700, 700, 700, 700, undefined]);
  });

  it("puts the runner-up in place of a token whose bias is small", () => {
    expect(steered({ bias: new Map([[11, -100]]) })).toEqual([10, runnerUp(1), 12, 13, undefined]);
  });

  it("keeps to the plan where a bias is too little to matter", () => {
    expect(steered({ bias: new Map([[700, 1]]) })).toEqual([...planned, undefined]);
  });

  it("puts the runner-up in place of a banned token, at its position only", () => {
    const isBanned = (position: number, token: number) => position < 2 && [11, 12].includes(token);

    expect(steered({ isBanned })).toEqual([10, runnerUp(1), 12, 13, undefined]);
  });

  it("says a banned token where all are", () => {
    expect(steered({ isBanned: () => true })).toEqual([...planned, undefined]);
  });

  it("does not ban by a bias that it has no part in", () => {
    const bias = new Map([[12, 50]]);

    expect(steered({ bias, isBanned: (_, token) => token === 12 })).toEqual([
      10,
      11,
      runnerUp(2),
      13,
      undefined,
    ]);
  });
});
