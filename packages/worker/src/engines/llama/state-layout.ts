/**
 * The layout of a llama.cpp sequence state file (version 3, little endian, no padding), as a parser
 * that asks for byte ranges and does no I/O. Every field is checked before a native loader sees it.
 */

/** A run of bytes of the file that the parser wants next. */
export interface ByteRange {
  readonly position: number;
  readonly length: number;
}

/** The keys or the values of one layer: `tokenCount` rows of `rowBytes`, one after the other. */
export interface RowGroup {
  /** The ggml type of an element: 1 is f16. */
  readonly type: number;
  readonly rowBytes: number;
}

/** What a state of one model and one context setting looks like, whatever the sequence. */
export interface StateShape {
  readonly version: number;
  readonly layerCount: number;
  /** The two words that newer builds write before the keys, kept as read. */
  readonly rotWords: readonly [number, number] | undefined;
  /** The keys of every layer, then the values of every layer. */
  readonly groups: readonly RowGroup[];
}

/** One parsed state file. */
export interface StateLayout {
  readonly shape: StateShape;
  readonly tokens: Uint32Array;
  /** Streams of the context that saved it; another count is refused by a loader. */
  readonly streamCount: number;
  /** Where the rows of each group of `shape.groups` begin in the file. */
  readonly rowPositions: readonly number[];
  readonly fileBytes: number;
}

/** The parts of a state file that can be wrong, named as in the layout. */
export type StateField =
  | "length"
  | "magic"
  | "version"
  | "nTokens"
  | "nStream"
  | "nCells"
  | "pos"
  | "nSeq"
  | "vTrans"
  | "nLayer"
  | "type"
  | "rowBytes"
  | "tail";

/** A state file that is not what this engine can cut or load. Names the first field that is wrong. */
export class StateFormatError extends Error {
  readonly field: StateField;

  constructor(field: StateField, message: string) {
    super(`state file: ${field}: ${message}`);
    this.name = "StateFormatError";
    this.field = field;
  }
}

export const stateMagic = 0x67677371;
/** The only version tried. Versions 2 and 4 exist in other builds and are refused by number. */
export const stateVersion = 3;
export const fixedHeaderBytes = 12;
export const groupHeaderBytes = 12;
/** A cell of the sequence: position, number of sequences (1), the sequence. */
export const cellBytes = 12;
const maxLayers = 1024;
const maxStreams = 4096;
const maxRowBytes = 1 << 24;

type Reader<T> = Generator<ByteRange, T, Uint8Array>;

/**
 * Parses a state file of `fileBytes` bytes. Yields the ranges it needs, in rising order, each within
 * the file; the caller answers with exactly those bytes. Throws `StateFormatError`.
 */
export function* parseState(fileBytes: number): Reader<StateLayout> {
  const head = viewOf(yield* take(fileBytes, 0, fixedHeaderBytes, "magic"));
  checkEqual("magic", head.getUint32(0, true), stateMagic);
  checkEqual("version", head.getUint32(4, true), stateVersion);
  const tokenCount = head.getUint32(8, true);
  if (tokenCount === 0) throw new StateFormatError("nTokens", "there are none");
  const tokens = readTokens(yield* take(fileBytes, fixedHeaderBytes, 4 * tokenCount, "nTokens"));
  const streams = yield* parseStreams(fileBytes, fixedHeaderBytes + 4 * tokenCount, tokenCount);
  const body = viewOf(yield* take(fileBytes, streams.bodyPosition, 8, "vTrans"));
  if (body.getUint32(0, true) !== 0) {
    throw new StateFormatError("vTrans", "values are transposed and cannot be cut by token");
  }
  const layerCount = body.getUint32(4, true);
  if (layerCount === 0 || layerCount > maxLayers) {
    throw new StateFormatError("nLayer", `${layerCount} is not within 1 and ${maxLayers}`);
  }
  const bodyEnd = fileBytes - 4 * streams.emptyAfter;
  const rows = yield* parseGroups(streams.bodyPosition + 8, bodyEnd, layerCount, tokenCount);
  if (streams.emptyAfter > 0) {
    const tail = yield* take(fileBytes, bodyEnd, 4 * streams.emptyAfter, "tail");
    if (tail.some((byte) => byte !== 0)) {
      throw new StateFormatError("tail", "a second stream holds cells");
    }
  }
  const { rotWords, groups, rowPositions } = rows;
  return {
    shape: { version: stateVersion, layerCount, rotWords, groups },
    tokens,
    streamCount: streams.count,
    rowPositions,
    fileBytes,
  };
}

interface Streams {
  readonly count: number;
  /** Streams after the one that holds the cells. */
  readonly emptyAfter: number;
  readonly bodyPosition: number;
}

function* parseStreams(fileBytes: number, start: number, tokenCount: number): Reader<Streams> {
  const count = viewOf(yield* take(fileBytes, start, 4, "nStream")).getUint32(0, true);
  if (count === 0 || count > maxStreams) {
    throw new StateFormatError("nStream", `${count} is not within 1 and ${maxStreams}`);
  }
  let position = start + 4;
  for (let index = 0; index < count; index++) {
    const cells = viewOf(yield* take(fileBytes, position, 4, "nCells")).getUint32(0, true);
    position += 4;
    if (cells === 0) continue;
    checkEqual("nCells", cells, tokenCount);
    checkCells(yield* take(fileBytes, position, cellBytes * cells, "pos"), cells);
    return { count, emptyAfter: count - index - 1, bodyPosition: position + cellBytes * cells };
  }
  throw new StateFormatError("nCells", "no stream holds cells");
}

function checkCells(bytes: Uint8Array, count: number): void {
  const view = viewOf(bytes);
  for (let index = 0; index < count; index++) {
    const position = view.getInt32(cellBytes * index, true);
    const sequences = view.getUint32(cellBytes * index + 4, true);
    if (position !== index) {
      throw new StateFormatError("pos", `cell ${index} is at position ${position}`);
    }
    if (sequences !== 1) {
      throw new StateFormatError("nSeq", `cell ${index} belongs to ${sequences} sequences`);
    }
  }
}

interface Groups {
  readonly rotWords: readonly [number, number] | undefined;
  readonly groups: RowGroup[];
  readonly rowPositions: number[];
}

/** Tries both header sizes: just one adds up to the file's length. */
function* parseGroups(start: number, end: number, layers: number, tokens: number): Reader<Groups> {
  const plain = yield* walkGroups(start, end, layers, tokens);
  if (!(plain instanceof StateFormatError)) return { rotWords: undefined, ...plain };
  if (start + 8 > end) throw plain;
  const words = viewOf(yield { position: start, length: 8 });
  const shifted = yield* walkGroups(start + 8, end, layers, tokens);
  if (shifted instanceof StateFormatError) throw plain;
  return { rotWords: [words.getUint32(0, true), words.getUint32(4, true)], ...shifted };
}

type Walked = { groups: RowGroup[]; rowPositions: number[] } | StateFormatError;

function* walkGroups(start: number, end: number, layers: number, tokens: number): Reader<Walked> {
  const groups: RowGroup[] = [];
  const rowPositions: number[] = [];
  let position = start;
  for (let index = 0; index < 2 * layers; index++) {
    if (position + groupHeaderBytes > end) {
      return new StateFormatError("length", `the file ends before row group ${index}`);
    }
    const header = viewOf(yield { position, length: groupHeaderBytes });
    const type = header.getInt32(0, true);
    const rowBytes = header.getUint32(4, true);
    if (type < 0 || type > 255) return new StateFormatError("type", `${type} is no ggml type`);
    if (header.getUint32(8, true) !== 0 || rowBytes === 0 || rowBytes > maxRowBytes) {
      return new StateFormatError("rowBytes", `row group ${index} has rows of an impossible size`);
    }
    groups.push({ type, rowBytes });
    rowPositions.push(position + groupHeaderBytes);
    position += groupHeaderBytes + rowBytes * tokens;
  }
  if (position !== end) {
    return new StateFormatError("length", `rows end at ${position}, the file's body at ${end}`);
  }
  return { groups, rowPositions };
}

function* take(
  fileBytes: number,
  position: number,
  length: number,
  field: StateField,
): Reader<Uint8Array> {
  if (position + length > fileBytes) {
    throw new StateFormatError("length", `the file ends within ${field}`);
  }
  return yield { position, length };
}

function checkEqual(field: StateField, found: number, expected: number): void {
  if (found !== expected) throw new StateFormatError(field, `${found} instead of ${expected}`);
}

function readTokens(bytes: Uint8Array): Uint32Array {
  const view = viewOf(bytes);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Parses a state that is in memory as a whole. Throws `StateFormatError`. */
export function parseStateBytes(bytes: Uint8Array): StateLayout {
  const parser = parseState(bytes.length);
  let step = parser.next();
  while (!step.done) {
    const { position, length } = step.value;
    step = parser.next(bytes.subarray(position, position + length));
  }
  return step.value;
}
