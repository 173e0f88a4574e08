/** A state file that does not exist yet: joined from pieces, written window by window. */

import { type KvPiece, rowRuns } from "./kv-pieces.ts";
import {
  cellBytes,
  fixedHeaderBytes,
  groupHeaderBytes,
  type StateShape,
  stateMagic,
} from "./state-layout.ts";

/** The bytes of a state of `tokens`, as a context of `streamCount` streams loads it. */
export class StateImage {
  readonly fileBytes: number;
  readonly #shape: StateShape;
  readonly #blockSize: number;
  readonly #pieces: readonly KvPiece[];
  readonly #tokenCount: number;
  readonly #head: Uint8Array;
  readonly #groupPositions: readonly number[];

  /**
   * `pieces` hold exactly the tokens, in order: whole blocks and, at most at the end, a tail. All
   * cells go to stream 0, which every destination sequence accepts. Throws `RangeError` otherwise.
   */
  constructor(
    shape: StateShape,
    blockSize: number,
    tokens: Uint32Array,
    pieces: readonly KvPiece[],
    streamCount: number,
  ) {
    checkPieces(shape, blockSize, pieces, tokens.length);
    this.#shape = shape;
    this.#blockSize = blockSize;
    this.#pieces = pieces;
    this.#tokenCount = tokens.length;
    this.#head = encodeHead(shape, tokens, streamCount);
    const positions: number[] = [];
    let position = this.#head.length;
    for (const group of shape.groups) {
      positions.push(position);
      position += groupHeaderBytes + group.rowBytes * tokens.length;
    }
    this.#groupPositions = positions;
    this.fileBytes = position + 4 * (streamCount - 1);
  }

  /** Fills `target` with the bytes of the file from `position` on. */
  fill(position: number, target: Uint8Array): void {
    target.fill(0);
    copyOverlap(this.#head, 0, position, target);
    for (const [index, group] of this.#shape.groups.entries()) {
      const start = this.#groupPositions[index] ?? 0;
      const rows = start + groupHeaderBytes;
      const end = rows + group.rowBytes * this.#tokenCount;
      if (end <= position || start >= position + target.length) continue;
      copyOverlap(encodeGroupHeader(group.type, group.rowBytes), start, position, target);
      const from = Math.max(position, rows) - rows;
      const to = Math.min(position + target.length, end) - rows;
      for (const run of rowRuns(this.#shape, this.#blockSize, this.#pieces, index, from, to)) {
        const { piece, pieceOffset, groupOffset, length } = run;
        const bytes = piece.bytes.subarray(pieceOffset, pieceOffset + length);
        target.set(bytes, rows + groupOffset - position);
      }
    }
  }
}

function checkPieces(
  shape: StateShape,
  blockSize: number,
  pieces: readonly KvPiece[],
  tokenCount: number,
): void {
  const perToken = shape.groups.reduce((sum, group) => sum + group.rowBytes, 0);
  let next = 0;
  for (const piece of pieces) {
    if (piece.firstToken !== next) throw new RangeError(`pieces leave out token ${next}`);
    if (next % blockSize !== 0) throw new RangeError("only the last piece may be a tail");
    if (piece.bytes.length !== piece.tokenCount * perToken) {
      throw new RangeError(`the piece at token ${next} has ${piece.bytes.length} bytes`);
    }
    if (piece.tokenCount > blockSize) throw new RangeError("a piece is longer than a block");
    next += piece.tokenCount;
  }
  if (next !== tokenCount || next === 0) {
    throw new RangeError(`pieces hold ${next} of ${tokenCount} tokens`);
  }
}

/** Everything before the first row group: the tokens, then stream 0 with one cell a token. */
function encodeHead(shape: StateShape, tokens: Uint32Array, streamCount: number): Uint8Array {
  const count = tokens.length;
  const cells = fixedHeaderBytes + 4 * count + 8;
  const body = cells + cellBytes * count;
  const head = new Uint8Array(body + 8 + (shape.rotWords === undefined ? 0 : 8));
  const view = new DataView(head.buffer);
  view.setUint32(0, stateMagic, true);
  view.setUint32(4, shape.version, true);
  view.setUint32(8, count, true);
  for (const [index, token] of tokens.entries()) {
    view.setUint32(fixedHeaderBytes + 4 * index, token, true);
    view.setInt32(cells + cellBytes * index, index, true);
    view.setUint32(cells + cellBytes * index + 4, 1, true);
  }
  view.setUint32(cells - 8, streamCount, true);
  view.setUint32(cells - 4, count, true);
  view.setUint32(body + 4, shape.layerCount, true);
  if (shape.rotWords !== undefined) {
    view.setUint32(body + 8, shape.rotWords[0], true);
    view.setUint32(body + 12, shape.rotWords[1], true);
  }
  return head;
}

function encodeGroupHeader(type: number, rowBytes: number): Uint8Array {
  const header = new Uint8Array(groupHeaderBytes);
  const view = new DataView(header.buffer);
  view.setInt32(0, type, true);
  view.setUint32(4, rowBytes, true);
  return header;
}

/** Copies what of `source`, which lies at `sourcePosition` of the file, falls into the window. */
function copyOverlap(
  source: Uint8Array,
  sourcePosition: number,
  position: number,
  target: Uint8Array,
): void {
  const from = Math.max(sourcePosition, position);
  const to = Math.min(sourcePosition + source.length, position + target.length);
  if (from >= to) return;
  target.set(source.subarray(from - sourcePosition, to - sourcePosition), from - position);
}
