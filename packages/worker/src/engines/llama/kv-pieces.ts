/**
 * Blocks and tails: the rows of a state, regrouped by token. A piece holds, for each row group of the
 * shape, the rows of its tokens one after the other, so a state cut into pieces and joined again is
 * the same bytes.
 */

import type { StateShape } from "./state-layout.ts";

/** Some consecutive tokens' rows. A block has the block size; a tail has fewer. */
export interface KvPiece {
  /** Index in the sequence of the piece's first token. */
  readonly firstToken: number;
  readonly tokenCount: number;
  /** `tokenCount × bytesPerToken(shape)` bytes. */
  readonly bytes: Uint8Array;
}

/** Bytes of one token over all row groups. */
export function bytesPerToken(shape: StateShape): number {
  return shape.groups.reduce((sum, group) => sum + group.rowBytes, 0);
}

/** Empty pieces for the tokens `[firstToken, tokenCount)`: whole blocks, then a tail if some are left. */
export function allocatePieces(
  shape: StateShape,
  blockSize: number,
  firstToken: number,
  tokenCount: number,
): KvPiece[] {
  const perToken = bytesPerToken(shape);
  const pieces: KvPiece[] = [];
  for (let first = firstToken; first < tokenCount; first += blockSize) {
    const count = Math.min(blockSize, tokenCount - first);
    pieces.push({ firstToken: first, tokenCount: count, bytes: new Uint8Array(count * perToken) });
  }
  return pieces;
}

/** A run of bytes that lies together both in the rows of one group and in one piece. */
export interface RowRun {
  readonly piece: KvPiece;
  readonly pieceOffset: number;
  /** Byte offset from the first row of the group. */
  readonly groupOffset: number;
  readonly length: number;
}

/**
 * The runs of pieces that cover the bytes `[start, end)` of a group's rows. `pieces` are consecutive,
 * by rising first token, and all but the last have `blockSize` tokens. Bytes outside them are skipped.
 */
export function* rowRuns(
  shape: StateShape,
  blockSize: number,
  pieces: readonly KvPiece[],
  groupIndex: number,
  start: number,
  end: number,
): Generator<RowRun> {
  const rowBytes = shape.groups[groupIndex]?.rowBytes;
  const firstPiece = pieces[0];
  if (rowBytes === undefined || firstPiece === undefined) return;
  const bytesBefore = shape.groups.slice(0, groupIndex).reduce((sum, g) => sum + g.rowBytes, 0);
  const skipped = start - firstPiece.firstToken * rowBytes;
  const firstIndex = Math.max(0, Math.floor(skipped / (blockSize * rowBytes)));
  for (const piece of pieces.slice(firstIndex)) {
    const pieceStart = piece.firstToken * rowBytes;
    const from = Math.max(start, pieceStart);
    const to = Math.min(end, pieceStart + piece.tokenCount * rowBytes);
    if (pieceStart >= end) return;
    if (from >= to) continue;
    const pieceOffset = piece.tokenCount * bytesBefore + (from - pieceStart);
    yield { piece, pieceOffset, groupOffset: from, length: to - from };
  }
}
