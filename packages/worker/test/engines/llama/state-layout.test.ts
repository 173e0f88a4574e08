import { describe, expect, it } from "vitest";
import {
  parseStateBytes,
  type StateField,
  StateFormatError,
} from "../../../src/engines/llama/state-layout.ts";
import { smallState, writeSyntheticState } from "./synthetic-state.ts";

const bytes = writeSyntheticState(smallState);
const count = smallState.tokens.length;
const streams = 12 + 4 * count;
/** Stream 0 is empty, so the cells of stream 1 begin after two counts. */
const cells = streams + 12;
const body = cells + 12 * count;

function patched(position: number, value: number): Uint8Array {
  const copy = bytes.slice();
  new DataView(copy.buffer).setUint32(position, value, true);
  return copy;
}

function fieldOf(input: Uint8Array): StateField | undefined {
  try {
    parseStateBytes(input);
  } catch (error) {
    if (error instanceof StateFormatError) return error.field;
    throw error;
  }
  return undefined;
}

describe("parseState", () => {
  it("reads tokens, streams, shape and the place of every row group", () => {
    const layout = parseStateBytes(bytes);
    expect([...layout.tokens]).toEqual(smallState.tokens);
    expect(layout.streamCount).toBe(3);
    expect(layout.shape).toEqual({
      version: 3,
      layerCount: 2,
      rotWords: undefined,
      groups: [
        { type: 1, rowBytes: 12 },
        { type: 1, rowBytes: 12 },
        { type: 1, rowBytes: 8 },
        { type: 1, rowBytes: 8 },
      ],
    });
    const rows = body + 8 + 12;
    expect(layout.rowPositions).toEqual([
      rows,
      rows + 12 * count + 12,
      rows + 24 * count + 24,
      rows + 32 * count + 36,
    ]);
  });

  it("has the length that the layout's formula gives", () => {
    const perToken = 2 * 12 + 2 * 8;
    expect(bytes.length).toBe(24 + 16 * count + 24 * 2 + count * perToken + 4 * 3);
  });

  it("keeps the two words that newer builds write before the keys", () => {
    const layout = parseStateBytes(writeSyntheticState({ ...smallState, rotWords: [64, 0] }));
    expect(layout.shape.rotWords).toEqual([64, 0]);
  });

  it.each<[StateField, number, number]>([
    ["magic", 0, 1],
    ["version", 4, 4],
    ["version", 4, 2],
    ["nTokens", 8, 0],
    ["nStream", streams, 0],
    ["nStream", streams, 1 << 20],
    ["nCells", streams + 8, count - 1],
    ["pos", cells + 12, 5],
    ["nSeq", cells + 4, 2],
    ["vTrans", body, 1],
    ["nLayer", body + 4, 0],
    ["nLayer", body + 4, 5000],
    ["type", body + 8, 999],
    ["rowBytes", body + 12, 0],
    ["rowBytes", body + 16, 1],
    ["length", body + 4, 3],
    ["type", body + 12, 24],
    ["tail", bytes.length - 4, 1],
  ])("refuses a wrong %s (offset %i set to %i)", (field, position, value) => {
    expect(fieldOf(patched(position, value))).toBe(field);
  });

  it("refuses every truncation, and bytes after the end", () => {
    for (let length = 0; length < bytes.length; length++) {
      expect(fieldOf(bytes.subarray(0, length)), `cut at ${length}`).toBeDefined();
    }
    const longer = new Uint8Array(bytes.length + 1);
    longer.set(bytes);
    expect(fieldOf(longer)).toBeDefined();
  });

  it("refuses a file in which no stream holds cells", () => {
    expect(fieldOf(patched(streams + 8, 0))).toBe("nCells");
  });
});
