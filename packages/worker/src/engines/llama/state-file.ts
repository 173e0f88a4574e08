/**
 * Reading and writing state files in slices, so that a state of a hundred megabytes never stops the
 * event loop of the process that hosts the worker.
 */

import { type FileHandle, open } from "node:fs/promises";
import type { KvPiece } from "./kv-pieces.ts";
import { StateCutter } from "./state-cut.ts";
import type { StateImage } from "./state-image.ts";
import { parseState, parseStateBytes, StateFormatError, type StateLayout } from "./state-layout.ts";

/** The most bytes that one read or write moves. */
export const maxSliceBytes = 1 << 20;

/** Files up to this size are read as a whole: their many small headers cost more than their rows. */
const smallFileBytes = 4 << 20;

/** A state as it was cut: the pieces from some token on. */
export interface CutState {
  readonly layout: StateLayout;
  readonly pieces: readonly KvPiece[];
}

/** Parses the file's layout without reading its rows. Throws `StateFormatError`. */
export async function readStateLayout(path: string): Promise<StateLayout> {
  const file = await open(path, "r");
  try {
    return await parseFile(file);
  } finally {
    await file.close();
  }
}

/**
 * Cuts a state file into blocks and a tail. `firstToken`, a multiple of the block size, says from
 * which token on rows are wanted. Throws `StateFormatError`.
 */
export async function cutStateFile(
  path: string,
  blockSize: number,
  firstToken: number,
): Promise<CutState> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    return size <= smallFileBytes
      ? await cutSmallFile(file, size, blockSize, firstToken)
      : await cutLargeFile(file, blockSize, firstToken);
  } finally {
    await file.close();
  }
}

async function cutSmallFile(
  file: FileHandle,
  size: number,
  blockSize: number,
  firstToken: number,
): Promise<CutState> {
  const bytes = new Uint8Array(size);
  for (let position = 0; position < size; position += maxSliceBytes) {
    await readFully(file, bytes.subarray(position, position + maxSliceBytes), position);
  }
  const layout = parseStateBytes(bytes);
  const cutter = new StateCutter(layout, blockSize, firstToken);
  cutter.accept(0, bytes);
  return { layout, pieces: cutter.pieces };
}

async function cutLargeFile(
  file: FileHandle,
  blockSize: number,
  firstToken: number,
): Promise<CutState> {
  const layout = await parseFile(file);
  const cutter = new StateCutter(layout, blockSize, firstToken);
  const slice = new Uint8Array(maxSliceBytes);
  for (const range of cutter.ranges(maxSliceBytes)) {
    const bytes = slice.subarray(0, range.length);
    await readFully(file, bytes, range.position);
    cutter.accept(range.position, bytes);
  }
  return { layout, pieces: cutter.pieces };
}

/** Writes the image to a file that must not exist yet, readable by its owner only. */
export async function writeStateFile(path: string, image: StateImage): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    const slice = new Uint8Array(Math.min(maxSliceBytes, image.fileBytes));
    for (let position = 0; position < image.fileBytes; position += slice.length) {
      const bytes = slice.subarray(0, Math.min(slice.length, image.fileBytes - position));
      image.fill(position, bytes);
      await writeFully(file, bytes, position);
    }
  } finally {
    await file.close();
  }
}

async function parseFile(file: FileHandle): Promise<StateLayout> {
  const { size } = await file.stat();
  const parser = parseState(size);
  let step = parser.next();
  while (!step.done) {
    const bytes = new Uint8Array(step.value.length);
    await readFully(file, bytes, step.value.position);
    step = parser.next(bytes);
  }
  return step.value;
}

async function readFully(file: FileHandle, target: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < target.length) {
    const { bytesRead } = await file.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) throw new StateFormatError("length", "the file ends early");
    done += bytesRead;
  }
}

async function writeFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
