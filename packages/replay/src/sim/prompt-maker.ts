// Hot path: once per request, over every block and token of its prompt; a long trace has 10⁸ tokens. Bench: bench/replay.bench.ts
import type { TraceRow } from "../trace/trace-row.ts";

/** How long the runs of a trace's ids are, and the blocks of the engine. */
export interface BlockSizes {
  /** Tokens an id of the trace stands for. */
  readonly traceBlockSize: number;
  /** Tokens a block of the engine. */
  readonly blockSize: number;
}

/** A prompt made up for a row. */
export interface Prompt {
  readonly tokens: Uint32Array;
  /** Of each full block, 8 bytes each: an id of the trace stands for all before it, so block and sequence hash are one. */
  readonly hashes: Uint8Array;
}

/**
 * Makes up prompts that share just what the ids of their rows say. A block's hash is made from the id of the run in which
 * the block ends, and from where in that run it ends; a token is made from the id of its run and its place. Blocks may be
 * smaller than the runs (an id is then several sub-ids), larger, or of any other length.
 */
export class PromptMaker {
  readonly #sizes: BlockSizes;

  constructor(sizes: BlockSizes) {
    this.#sizes = sizes;
  }

  /** `uniqueId` stands for the contents of a row that tells nothing of them. */
  make(row: TraceRow, uniqueId: number): Prompt {
    const ids = row.hashIds;
    return {
      tokens: this.#tokens(row.promptTokens, ids, uniqueId),
      hashes: this.#hashes(row.promptTokens, ids, uniqueId),
    };
  }

  #tokens(count: number, ids: Float64Array | null, uniqueId: number): Uint32Array {
    const { traceBlockSize } = this.#sizes;
    const tokens = new Uint32Array(count);
    for (let start = 0, run = 0; start < count; start += traceBlockSize, run++) {
      const end = Math.min(count, start + traceBlockSize);
      const first = firstTokenOf(ids, run, uniqueId);
      for (let at = start; at < end; at++) tokens[at] = first + at;
    }
    return tokens;
  }

  #hashes(promptTokens: number, ids: Float64Array | null, uniqueId: number): Uint8Array {
    const { traceBlockSize, blockSize } = this.#sizes;
    const blocks = Math.floor(promptTokens / blockSize);
    const words = new Uint32Array(blocks * 2);
    for (let block = 0; block < blocks; block++) {
      const end = (block + 1) * blockSize;
      const run = Math.ceil(end / traceBlockSize) - 1;
      const id = idOf(ids, run, uniqueId);
      const place = end - run * traceBlockSize;
      const salt = saltOf(ids, mix(place ^ mix(Math.floor(id / 2 ** 32))));
      words[block * 2] = mix((id ^ salt) >>> 0);
      words[block * 2 + 1] = mix((Math.imul(id | 0, 0x9e3779b1) + salt) >>> 0);
    }
    return new Uint8Array(words.buffer);
  }
}

/** The first token of an output: outputs share nothing with each other, nor with prompts. */
export function firstOutputToken(requestIndex: number): number {
  return mix(mix(requestIndex ^ 0x51ed270b) ^ 0x2545f491);
}

function firstTokenOf(ids: Float64Array | null, run: number, uniqueId: number): number {
  const id = idOf(ids, run, uniqueId);
  return mix((id ^ saltOf(ids, mix(Math.floor(id / 2 ** 32)))) >>> 0);
}

/** Every run of a row without ids has an id of its own, in a space of its own. */
function idOf(ids: Float64Array | null, run: number, uniqueId: number): number {
  return ids === null ? uniqueId * 2 ** 20 + run : (ids[run] ?? 0);
}

function saltOf(ids: Float64Array | null, salt: number): number {
  return ids === null ? mix(salt ^ 0x6a09e667) : salt;
}

/** Spreads a u32; no two give the same. */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
