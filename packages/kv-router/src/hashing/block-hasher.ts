import { blockHasherWasmBase64 } from "./block-hasher-wasm.ts";
import {
  addToHashSeed,
  baseHashSeed,
  type HashScope,
  type HashSeed,
  readU32,
} from "./hash-seed.ts";
import { bytesFromBase64, instantiateWasm, utf8Bytes } from "./host-globals.ts";

/** Bytes of a block hash or a sequence hash. */
export const hashBytes = 8;

/**
 * Hashes prompts. A hash is 8 little-endian bytes, and several lie one after the other. Every result is a copy
 * that later calls leave alone. One hasher may serve all requests of a thread.
 */
export interface BlockHasher {
  /**
   * The hashes of the complete blocks of `tokens`; what is left at the end has none. Throws RangeError unless
   * `blockSize` is a whole number above 0. `seed` defaults to `baseHashSeed`.
   */
  blockHashes(tokens: Uint32Array, blockSize: number, seed?: HashSeed): Uint8Array;
  /**
   * Chains block hashes into sequence hashes: each covers its block and all before it. `parent` is the sequence
   * hash to go on from. Throws RangeError unless lengths are whole hashes.
   */
  sequenceHashes(blockHashes: Uint8Array, parent?: Uint8Array): Uint8Array;
  /** XXH3-64 of any bytes. `seed` defaults to 0. */
  xxh3(bytes: Uint8Array, seed?: HashSeed): Uint8Array;
  /** The seed of a request's block hashes, by adapter and salt. */
  hashSeed(scope: HashScope): HashSeed;
}

/** An instance of `blockHasherWasm()`, made by whoever starts the process. */
export interface BlockHasherInstance {
  readonly exports: object;
}

/** The bytes of the WebAssembly module. */
export function blockHasherWasm(): Uint8Array {
  return bytesFromBase64(blockHasherWasmBase64);
}

/** A hasher on an instance that was made elsewhere, and that nobody else uses. */
export function createBlockHasher(instance: BlockHasherInstance): BlockHasher {
  return new WasmBlockHasher(instance.exports as BlockHasherExports);
}

/** A hasher on an instance of its own, made from the module carried here. Compiling takes a few milliseconds: once a process. */
export function createBlockHasherFromModule(): BlockHasher {
  return createBlockHasher(instantiateWasm(blockHasherWasm()));
}

/** Mirrors the exports of `assembly/block-hasher.ts`. Addresses are byte offsets in `memory`. */
interface BlockHasherExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  scratchStart(): number;
  hashBlocks(
    input: number,
    blockBytes: number,
    count: number,
    seedLow: number,
    seedHigh: number,
    output: number,
  ): void;
  chainBlocks(
    input: number,
    count: number,
    hasParent: number,
    parentLow: number,
    parentHigh: number,
    seedLow: number,
    seedHigh: number,
    output: number,
  ): void;
}

const pageBytes = 65_536;
// A prompt goes through in pieces of this size, so that it stays in the processor's cache and memory stays small.
const pieceBytes = 131_072;
const zeroSeed: HashSeed = { low: 0, high: 0 };

class WasmBlockHasher implements BlockHasher {
  readonly #wasm: BlockHasherExports;
  readonly #scratch: number;
  #memory: Uint8Array;

  constructor(wasm: BlockHasherExports) {
    this.#wasm = wasm;
    this.#scratch = wasm.scratchStart();
    this.#memory = new Uint8Array(wasm.memory.buffer);
  }

  blockHashes(tokens: Uint32Array, blockSize: number, seed: HashSeed = baseHashSeed): Uint8Array {
    if (!Number.isInteger(blockSize) || blockSize < 1) {
      throw new RangeError(`block size must be a whole number above 0, not ${blockSize}`);
    }
    const blocks = Math.floor(tokens.length / blockSize);
    const bytes = new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);
    return this.#hashRuns(bytes, blockSize * 4, blocks, seed);
  }

  xxh3(bytes: Uint8Array, seed: HashSeed = zeroSeed): Uint8Array {
    return this.#hashRuns(bytes, bytes.length, 1, seed);
  }

  sequenceHashes(blockHashes: Uint8Array, parent?: Uint8Array): Uint8Array {
    if (blockHashes.length % hashBytes !== 0) {
      throw new RangeError(`${blockHashes.length} bytes are not whole block hashes`);
    }
    if (parent !== undefined && parent.length !== hashBytes) {
      throw new RangeError(`a parent has ${hashBytes} bytes, not ${parent.length}`);
    }
    const hashes = new Uint8Array(blockHashes.length);
    let previous = parent;
    for (let start = 0; start < blockHashes.length; start += pieceBytes) {
      const piece = blockHashes.subarray(start, start + pieceBytes);
      this.#write(piece, piece.length);
      this.#wasm.chainBlocks(
        this.#scratch,
        piece.length / hashBytes,
        previous === undefined ? 0 : 1,
        previous === undefined ? 0 : readU32(previous, 0),
        previous === undefined ? 0 : readU32(previous, 4),
        baseHashSeed.low,
        baseHashSeed.high,
        this.#outputAfter(piece.length),
      );
      this.#readInto(hashes, start, piece.length, piece.length);
      previous = hashes.subarray(start + piece.length - hashBytes, start + piece.length);
    }
    return hashes;
  }

  hashSeed({ lora = "", salt = "" }: HashScope): HashSeed {
    let seed = baseHashSeed;
    if (lora !== "") seed = addToHashSeed(seed, this.xxh3(utf8Bytes(lora)));
    if (salt !== "") seed = addToHashSeed(seed, this.xxh3(utf8Bytes(salt), { low: 1, high: 0 }));
    return seed;
  }

  /** Hashes `count` runs of `runBytes` each, one after the other in `bytes`. */
  #hashRuns(bytes: Uint8Array, runBytes: number, count: number, seed: HashSeed): Uint8Array {
    const hashes = new Uint8Array(count * hashBytes);
    const runsAPiece = Math.max(1, Math.floor(pieceBytes / Math.max(1, runBytes)));
    for (let first = 0; first < count; first += runsAPiece) {
      const runs = Math.min(runsAPiece, count - first);
      const piece = bytes.subarray(first * runBytes, (first + runs) * runBytes);
      this.#write(piece, runs * hashBytes);
      const output = this.#outputAfter(piece.length);
      this.#wasm.hashBlocks(this.#scratch, runBytes, runs, seed.low, seed.high, output);
      this.#readInto(hashes, first * hashBytes, piece.length, runs * hashBytes);
    }
    return hashes;
  }

  /** Puts the input at the start of the scratch, with room for the output behind it. */
  #write(input: Uint8Array, outputBytes: number): void {
    const end = this.#outputAfter(input.length) + outputBytes;
    const missing = end - this.#wasm.memory.buffer.byteLength;
    if (missing > 0) this.#wasm.memory.grow(Math.ceil(missing / pageBytes));
    // Growing detaches the old buffer.
    if (this.#memory.buffer !== this.#wasm.memory.buffer) {
      this.#memory = new Uint8Array(this.#wasm.memory.buffer);
    }
    this.#memory.set(input, this.#scratch);
  }

  #outputAfter(inputBytes: number): number {
    return this.#scratch + Math.ceil(inputBytes / hashBytes) * hashBytes;
  }

  #readInto(target: Uint8Array, offset: number, inputBytes: number, outputBytes: number): void {
    const start = this.#outputAfter(inputBytes);
    target.set(this.#memory.subarray(start, start + outputBytes), offset);
  }
}
