/** Cutting a state file into pieces, by slices of the file, in any order and of any size. */

import { allocatePieces, type KvPiece, rowRuns } from "./kv-pieces.ts";
import type { ByteRange, StateLayout } from "./state-layout.ts";

/** Collects the rows of the tokens from `firstToken` on. Feed it every range of `ranges`. */
export class StateCutter {
  readonly pieces: readonly KvPiece[];
  readonly #layout: StateLayout;
  readonly #blockSize: number;
  readonly #firstToken: number;

  /** `firstToken` is a multiple of `blockSize`: the blocks before it are not wanted. */
  constructor(layout: StateLayout, blockSize: number, firstToken: number) {
    if (firstToken % blockSize !== 0) throw new RangeError("firstToken is inside a block");
    this.#layout = layout;
    this.#blockSize = blockSize;
    this.#firstToken = firstToken;
    this.pieces = allocatePieces(layout.shape, blockSize, firstToken, layout.tokens.length);
  }

  /** The parts of the file that hold wanted rows, none longer than `maxBytes`, by rising position. */
  *ranges(maxBytes: number): Generator<ByteRange> {
    const { shape, rowPositions, tokens } = this.#layout;
    if (this.pieces.length === 0) return;
    let pending: { position: number; end: number } | undefined;
    for (const [index, group] of shape.groups.entries()) {
      const start = (rowPositions[index] ?? 0) + this.#firstToken * group.rowBytes;
      const end = (rowPositions[index] ?? 0) + tokens.length * group.rowBytes;
      if (pending !== undefined && end - pending.position <= maxBytes) {
        pending.end = end;
        continue;
      }
      if (pending !== undefined) yield* slices(pending.position, pending.end, maxBytes);
      pending = { position: start, end };
    }
    if (pending !== undefined) yield* slices(pending.position, pending.end, maxBytes);
  }

  /** Takes bytes of the file, beginning at `position`. What is not a wanted row is skipped. */
  accept(position: number, bytes: Uint8Array): void {
    const { shape, rowPositions, tokens } = this.#layout;
    const end = position + bytes.length;
    for (const [index, group] of shape.groups.entries()) {
      const rows = rowPositions[index] ?? 0;
      const from = Math.max(position, rows) - rows;
      const to = Math.min(end, rows + tokens.length * group.rowBytes) - rows;
      if (from >= to) continue;
      for (const run of rowRuns(shape, this.#blockSize, this.pieces, index, from, to)) {
        const source = rows + run.groupOffset - position;
        run.piece.bytes.set(bytes.subarray(source, source + run.length), run.pieceOffset);
      }
    }
  }
}

function* slices(start: number, end: number, maxBytes: number): Generator<ByteRange> {
  for (let position = start; position < end; position += maxBytes) {
    yield { position, length: Math.min(maxBytes, end - position) };
  }
}
