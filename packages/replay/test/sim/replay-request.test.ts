import { describe, expect, it } from "vitest";
import { ReplayRequest } from "../../src/sim/replay-request.ts";
import { arrivalOf, requestOf, rowOf } from "../support/builders.ts";

describe("a request of a replay", () => {
  it("asks for as many tokens as its row, and puts out what nobody else does", () => {
    const [first, second] = [requestOf(0, [1], 5), requestOf(1, [1], 5)];
    const outputOf = ({ plans }: ReplayRequest) => [0, 1, 2].map((at) => plans[0]?.next(at) ?? -1);

    expect(first.rules).toEqual({ maxTokens: 5 });
    expect(first.id).not.toBe(second.id);
    expect(new Set([...outputOf(first), ...outputOf(second)]).size).toBe(6);
  });

  it("counts a partial last block among those that it asks for", () => {
    const prompt = { tokens: new Uint32Array(600), hashes: new Uint8Array(8) };
    const row = rowOf({ ids: [1, 2], promptTokens: 600 });

    const request = new ReplayRequest(arrivalOf(row), prompt, 3, 512);

    expect([request.promptBlocks, request.sequenceHashes.length, request.arrivedMs]).toEqual([
      2, 8, 3,
    ]);
  });
});
