import { describe, expect, it } from "vitest";
import { allocatePieces, bytesPerToken, rowRuns } from "../../../src/engines/llama/kv-pieces.ts";
import { parseStateBytes } from "../../../src/engines/llama/state-layout.ts";
import { smallState, writeSyntheticState } from "./synthetic-state.ts";

const { shape } = parseStateBytes(writeSyntheticState(smallState));

describe("pieces", () => {
  it("are whole blocks and a tail from the first wanted token on", () => {
    const pieces = allocatePieces(shape, 16, 16, 37);
    expect(pieces.map(({ firstToken, tokenCount }) => [firstToken, tokenCount])).toEqual([
      [16, 16],
      [32, 5],
    ]);
    expect(pieces[1]?.bytes).toHaveLength(5 * bytesPerToken(shape));
    expect(allocatePieces(shape, 16, 48, 48)).toEqual([]);
  });

  it("lie in runs that cover a stretch of rows, whatever its bounds", () => {
    const pieces = allocatePieces(shape, 16, 16, 37);
    const runs = [...rowRuns(shape, 16, pieces, 1, 100, 420)];
    // Rows of 12 bytes: the pieces begin at 192 and 384 and end at 444.
    expect(
      runs.map(({ pieceOffset, groupOffset, length }) => [pieceOffset, groupOffset, length]),
    ).toEqual([
      [16 * 12, 192, 192],
      [5 * 12, 384, 36],
    ]);
    expect([...rowRuns(shape, 16, pieces, 1, 0, 192)]).toEqual([]);
    expect([...rowRuns(shape, 16, [], 1, 0, 192)]).toEqual([]);
  });
});
