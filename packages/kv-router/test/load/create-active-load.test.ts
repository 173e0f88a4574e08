import { describe, expect, it } from "vitest";
import { type ActiveRequest, createActiveLoad, defaultLoadTracking } from "../../src/index.ts";
import { hashesOf } from "../core/core-support.ts";
import { booking } from "../support.ts";

const request = (
  name: string,
  text: string,
  facts: Partial<ActiveRequest> = {},
): ActiveRequest => ({
  bookingId: booking(name),
  rank: 0,
  sequenceHashes: hashesOf(text),
  blocks: text.length,
  prefillTokens: 0,
  prefillMs: null,
  promptTokens: text.length * 4,
  blockSize: 4,
  expectedOutputTokens: null,
  atMs: 0,
  ...facts,
});

const loadOf = (tracking: Partial<typeof defaultLoadTracking>, ...requests: ActiveRequest[]) => {
  const load = createActiveLoad({ ...defaultLoadTracking, ...tracking });
  for (const one of requests) load.add(one);
  return load;
};

it("counts blocks that requests of a rank share once", () => {
  const load = loadOf({}, request("a", "abc"), request("b", "abd"), request("c", "abc"));

  expect(load.activeBlocksOf(0)).toBe(4);
  load.remove(booking("a"), 0);
  expect(load.activeBlocksOf(0)).toBe(4);
  load.remove(booking("c"), 0);
  expect(load.activeBlocksOf(0)).toBe(3);
});

it("counts the blocks of each rank apart, and finds each rank's own depth", () => {
  const load = loadOf({}, request("a", "abcd"), request("b", "abx", { rank: 5 }));

  expect([0, 5, 6].map((rank) => load.activeBlocksOf(rank))).toEqual([4, 3, 0]);
  const active = load.findActive(hashesOf("abcxx"));
  expect([active[0], active[5], active[1]]).toEqual([3, 2, 0]);
  expect(load.blocks).toBe(5);
});

it("reads hashes that begin anywhere in their buffer", () => {
  const shifted = new Uint8Array(8 * 3 + 1);
  shifted.set(hashesOf("abc"), 1);
  const load = loadOf({}, request("a", "abc", { sequenceHashes: shifted.subarray(1) }));

  expect(load.findActive(hashesOf("abc"))[0]).toBe(3);
  expect(load.findActive(shifted.subarray(1))[0]).toBe(3);
});

it("keeps the first of two requests of one id, and forgives what it does not know", () => {
  const load = loadOf({}, request("a", "ab"), request("a", "abcdef", { rank: 3 }));
  load.remove(booking("z"), 0);
  load.prefillCompleted(booking("z"), 0);
  load.produced(booking("z"), 9);

  expect([load.size, load.activeBlocksOf(0), load.activeBlocksOf(3)]).toEqual([1, 2, 0]);
  expect([load.has(booking("a")), load.has(booking("z"))]).toEqual([true, false]);
});

it("refuses to track the output's blocks without the prompt's", () => {
  const tracking = { ...defaultLoadTracking, trackActiveBlocks: false, trackOutputBlocks: true };

  expect(() => createActiveLoad(tracking)).toThrow(RangeError);
});

describe("the blocks of the output", () => {
  it("are counted as they are opened", () => {
    const load = loadOf({ trackOutputBlocks: true }, request("a", "ab", { promptTokens: 10 }));
    const after = (outputTokens: number) => {
      load.produced(booking("a"), outputTokens);
      return load.activeBlocksOf(0);
    };

    // The prompt has begun its third block, which is not counted; the output opens the fourth with its third token.
    expect([0, 2, 3, 6, 7].map(after)).toEqual([2, 2, 3, 3, 4]);
    expect(after(1)).toBe(4);
  });

  it("weigh less the less is to come, with all that the request has alone", () => {
    const half = { expectedOutputTokens: 8 };
    const load = loadOf(
      { trackOutputBlocks: true },
      request("a", "abcdefgh", half),
      request("b", "abxx"),
    );
    load.produced(booking("a"), 4);

    // Two blocks are shared, two are b's, six and one of output are a's at half their weight.
    expect(load.activeBlocksOf(0)).toBe(Math.round(2 + 2 + 7 / 2));
    load.remove(booking("b"), 0);
    expect(load.activeBlocksOf(0)).toBe(Math.round(9 / 2));
    load.produced(booking("a"), 99);
    expect(load.activeBlocksOf(0)).toBe(0);
  });

  it("are none where they are not tracked", () => {
    const load = loadOf({}, request("a", "ab", { expectedOutputTokens: 1 }));
    load.produced(booking("a"), 100);

    expect(load.activeBlocksOf(0)).toBe(2);
  });
});

it("is empty again when the last request has left, however large and odd they were", () => {
  const huge = { blocks: Number.MAX_SAFE_INTEGER, sequenceHashes: new Uint8Array() };
  const tokens = Number.MAX_SAFE_INTEGER;
  const load = loadOf(
    { trackOutputBlocks: true },
    request("small", "", { blocks: 3, prefillTokens: 7, sequenceHashes: new Uint8Array() }),
    request("huge", "", { ...huge, prefillTokens: tokens, expectedOutputTokens: 7 }),
    request("odd", "", { sequenceHashes: new Uint8Array(13), prefillTokens: tokens }),
  );
  load.produced(booking("huge"), 3);
  for (const name of ["small", "odd", "huge"]) load.remove(booking(name), 0);

  expect(load.activeBlocksOf(0)).toBe(0);
  expect(load.activePrefillTokensOf(0, 0)).toBe(0);
  expect(load.requestsOf(0)).toBe(0);
});
