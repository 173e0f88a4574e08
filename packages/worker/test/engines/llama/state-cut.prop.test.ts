import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesPerToken, type KvPiece } from "../../../src/engines/llama/kv-pieces.ts";
import { StateCutter } from "../../../src/engines/llama/state-cut.ts";
import { StateImage } from "../../../src/engines/llama/state-image.ts";
import { parseStateBytes } from "../../../src/engines/llama/state-layout.ts";
import { rowByte, type SyntheticState, writeSyntheticState } from "./synthetic-state.ts";

const states = fc
  .record({
    tokens: fc.array(fc.integer({ min: 0, max: 0x7fffffff }), { minLength: 1, maxLength: 70 }),
    streamCount: fc.integer({ min: 1, max: 5 }),
    streamIndex: fc.nat(4),
    layerCount: fc.integer({ min: 1, max: 3 }),
    keyRowBytes: fc.integer({ min: 1, max: 9 }),
    valueRowBytes: fc.integer({ min: 1, max: 9 }),
  })
  .map((state): SyntheticState => {
    return { ...state, streamIndex: state.streamIndex % state.streamCount };
  });

function cut(bytes: Uint8Array, blockSize: number, firstToken: number, slice: number): KvPiece[] {
  const cutter = new StateCutter(parseStateBytes(bytes), blockSize, firstToken);
  for (const { position, length } of cutter.ranges(slice)) {
    expect(length).toBeLessThanOrEqual(slice);
    cutter.accept(position, bytes.subarray(position, position + length));
  }
  return [...cutter.pieces];
}

function render(image: StateImage, slice: number): Uint8Array {
  const out = new Uint8Array(image.fileBytes).fill(0xee);
  for (let position = 0; position < out.length; position += slice) {
    image.fill(position, out.subarray(position, Math.min(out.length, position + slice)));
  }
  return out;
}

const sizes = fc.record({
  blockSize: fc.constantFrom(1, 4, 16),
  slice: fc.integer({ min: 1, max: 4000 }),
  otherSlice: fc.integer({ min: 1, max: 4000 }),
});

describe("cutting and joining a state", () => {
  it("gives the same bytes for one stream, whatever the slices", () => {
    fc.assert(
      fc.property(states, sizes, (state, { blockSize, slice, otherSlice }) => {
        const single = { ...state, streamCount: 1, streamIndex: 0 };
        const bytes = writeSyntheticState(single);
        const layout = parseStateBytes(bytes);
        const pieces = cut(bytes, blockSize, 0, slice);
        const image = new StateImage(layout.shape, blockSize, layout.tokens, pieces, 1);
        expect(render(image, otherSlice)).toEqual(bytes);
      }),
    );
  });

  it("moves the cells to stream 0 of any other stream count", () => {
    fc.assert(
      fc.property(states, sizes, fc.integer({ min: 1, max: 6 }), (state, size, streamCount) => {
        const bytes = writeSyntheticState(state);
        const { shape, tokens } = parseStateBytes(bytes);
        const pieces = cut(bytes, size.blockSize, 0, size.slice);
        const image = new StateImage(shape, size.blockSize, tokens, pieces, streamCount);
        const expected = writeSyntheticState({ ...state, streamCount, streamIndex: 0 });
        expect(render(image, size.otherSlice)).toEqual(expected);
      }),
    );
  });

  it("gives a piece the rows of its tokens, group by group", () => {
    fc.assert(
      fc.property(states, sizes, fc.nat(5), (state, { blockSize, slice }, skip) => {
        const count = state.tokens.length;
        const firstToken = Math.min(skip * blockSize, Math.floor(count / blockSize) * blockSize);
        const pieces = cut(writeSyntheticState(state), blockSize, firstToken, slice);
        let next = firstToken;
        for (const piece of pieces) {
          expect(piece.firstToken).toBe(next);
          const expected: number[] = [];
          for (let group = 0; group < 2 * state.layerCount; group++) {
            const rowBytes = group < state.layerCount ? state.keyRowBytes : state.valueRowBytes;
            for (let token = next; token < next + piece.tokenCount; token++) {
              for (let b = 0; b < rowBytes; b++) expected.push(rowByte(group, token, b));
            }
          }
          expect([...piece.bytes]).toEqual(expected);
          next += piece.tokenCount;
        }
        expect(next).toBe(count);
      }),
    );
  });

  it("joins a prefix alone, and the blocks of one state with the tail of another", () => {
    fc.assert(
      fc.property(states, fc.nat(70), (state, cutAt) => {
        const prefix = Math.max(1, Math.min(cutAt, state.tokens.length));
        const shorter = { ...state, tokens: state.tokens.slice(0, prefix) };
        const { shape, tokens } = parseStateBytes(writeSyntheticState(state));
        const blocks = cut(writeSyntheticState(state), 4, 0, 512).slice(0, Math.floor(prefix / 4));
        const tail = cut(writeSyntheticState(shorter), 4, 4 * blocks.length, 512);
        const image = new StateImage(shape, 4, tokens.slice(0, prefix), [...blocks, ...tail], 1);
        const expected = writeSyntheticState({ ...shorter, streamCount: 1, streamIndex: 0 });
        expect(render(image, 333)).toEqual(expected);
      }),
    );
  });

  it("refuses pieces with a hole, a tail in the middle, or a wrong size", () => {
    const state = { tokens: [1, 2, 3, 4, 5, 6], streamCount: 1, streamIndex: 0 };
    const bytes = writeSyntheticState({
      ...state,
      layerCount: 1,
      keyRowBytes: 2,
      valueRowBytes: 2,
    });
    const { shape, tokens } = parseStateBytes(bytes);
    const pieces = cut(bytes, 4, 0, 512);
    const first = pieces[0] as KvPiece;
    const tail = pieces[1] as KvPiece;
    const join = (given: readonly KvPiece[]) => () => new StateImage(shape, 4, tokens, given, 1);
    expect(join([first])).toThrow(RangeError);
    expect(join([tail])).toThrow(RangeError);
    expect(join([{ ...tail, firstToken: 0 }, first])).toThrow(RangeError);
    expect(join([first, { ...tail, bytes: tail.bytes.subarray(1) }])).toThrow(RangeError);
    expect(bytesPerToken(shape)).toBe(4);
  });
});
