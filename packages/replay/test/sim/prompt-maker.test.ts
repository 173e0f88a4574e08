import { describe, expect, it } from "vitest";
import { firstOutputToken, PromptMaker } from "../../src/sim/prompt-maker.ts";
import { rowOf } from "../support/builders.ts";

const make = (ids: readonly number[], blockSize = 512, promptTokens = ids.length * 512) =>
  new PromptMaker({ blockSize, traceBlockSize: 512 }).make(
    rowOf({ ids: [...ids], promptTokens }),
    0,
  );

function hashesOf({ hashes }: { hashes: Uint8Array }): string[] {
  const hex = Buffer.from(hashes).toString("hex");
  return hex.match(/.{16}/g) ?? [];
}

describe("a made-up prompt", () => {
  it("shares with others just the blocks whose ids are the same", () => {
    const [first, second] = [make([7, 8, 9]), make([7, 8, 10])];

    expect(hashesOf(first).slice(0, 2)).toEqual(hashesOf(second).slice(0, 2));
    expect(hashesOf(first)[2]).not.toBe(hashesOf(second)[2]);
    expect(first.tokens.subarray(0, 1_024)).toEqual(second.tokens.subarray(0, 1_024));
    expect(first.tokens[1_024]).not.toBe(second.tokens[1_024]);
  });

  it("has a hash for full blocks only", () => {
    const { tokens, hashes } = make([1, 2], 512, 600);

    expect(tokens.length).toBe(600);
    expect(hashes.length).toBe(8);
  });

  it("has several blocks for an id where blocks are smaller", () => {
    const [small, other] = [make([1, 2], 64), make([1, 3], 64)];

    expect(new Set(hashesOf(small)).size).toBe(16);
    expect(hashesOf(small).slice(0, 8)).toEqual(hashesOf(other).slice(0, 8));
    expect(hashesOf(small).slice(8)).not.toEqual(hashesOf(other).slice(8));
  });

  it("has blocks of the last id in them where blocks are larger or do not fit", () => {
    expect(hashesOf(make([1, 2, 3, 4], 1_024))).toHaveLength(2);
    expect(hashesOf(make([1, 2, 9, 4], 1_024))[0]).toBe(hashesOf(make([1, 2, 3, 4], 1_024))[0]);
    expect(hashesOf(make([1, 5, 3, 4], 1_024))[0]).not.toBe(hashesOf(make([1, 2, 3, 4], 1_024))[0]);
    expect(hashesOf(make([1, 2], 500))).toHaveLength(2);
  });

  it("tells apart ids beyond 32 bits", () => {
    const ids = [0, 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33, 2 ** 53 - 1];

    expect(new Set(ids.map((id) => hashesOf(make([id]))[0])).size).toBe(ids.length);
    expect(new Set(ids.map((id) => make([id]).tokens[0])).size).toBe(ids.length);
  });

  it("without ids shares nothing with any other", () => {
    const maker = new PromptMaker({ blockSize: 512, traceBlockSize: 512 });
    const row = { ...rowOf({ ids: [0, 1] }), hashIds: null };

    const all = [maker.make(row, 0), maker.make(row, 1), make([0, 1])].flatMap(hashesOf);

    expect(new Set(all).size).toBe(6);
  });

  it("is not begun by what a request puts out", () => {
    const firsts = Array.from({ length: 1_000 }, (_, index) => firstOutputToken(index));

    expect(new Set(firsts).size).toBe(1_000);
    expect(firsts).not.toContain(make([0]).tokens[0]);
  });
});
