// Hot: encodeWord once per word. Budget: 0.3 µs a token. Bench: bench/tokenizer.bench.ts.

import { writeUtf8 } from "../artifact/utf8.ts";
import { isLeadSurrogate, joinSurrogates } from "../scan/scan-runs.ts";
import type { IdBuffer } from "./id-buffer.ts";
import { LongWord } from "./long-word.ts";
import { LongWordMerge } from "./long-word-merge.ts";
import { mergeShortWord, mostLinearSymbols } from "./merge-short-word.ts";
import type { MergeTable } from "./merge-table.ts";
import type { TokenByteTable } from "./token-byte-table.ts";
import { type droppedByte, unknownByte } from "./unknown-byte.ts";
import { hashWord, longestRememberedWord, WordMemo } from "./word-memo.ts";

/** Words above this many UTF-16 units are merged in steps by whoever encodes in steps: 2,048 take about 1 ms. */
export const longestWordAtOnce = 2048;

const scratchBytes = 1024;

/** The ids of one word: byte-level BPE over the tables of a tokenizer. */
export class BpeModel {
  private readonly merges: MergeTable;
  private readonly words: TokenByteTable;
  private readonly ignoreMerges: boolean;
  /** The id of each byte as a token; where the vocabulary has none, `droppedByte` or `unknownByte`. */
  private readonly byteIds: Int32Array;
  private readonly memo = new WordMemo();
  // Scratch of one call: nobody holds them across calls.
  private bytes = new Uint8Array(scratchBytes);
  private symbols = new Int32Array(scratchBytes);

  constructor(
    merges: MergeTable,
    words: TokenByteTable,
    ignoreMerges: boolean,
    unknown: typeof droppedByte | typeof unknownByte,
  ) {
    this.merges = merges;
    this.words = words;
    this.ignoreMerges = ignoreMerges;
    this.byteIds = Int32Array.from({ length: 256 }, (_, byte) => {
      const id = words.find(Uint8Array.of(byte), 0, 1);
      return id < 0 ? unknown : id;
    });
  }

  /** Appends the ids of the word `units[at, end)`, which is well-formed UTF-16. */
  encodeWord(units: Uint16Array, at: number, end: number, out: IdBuffer): void {
    const length = end - at;
    if (length > longestRememberedWord) {
      this.mergeWord(units, at, end, out);
      return;
    }
    const hash = hashWord(units, at, end);
    if (!this.memo.read(hash, units, at, length, out)) {
      const idsFrom = out.length;
      this.mergeWord(units, at, end, out);
      this.memo.write(hash, units, at, length, out, idsFrom);
    }
  }

  /** The way of a long word to its ids, in steps; undefined if the word may be one token. */
  startLongWord(units: Uint16Array, at: number, end: number): LongWord | undefined {
    return this.ignoreMerges && end - at <= this.words.longest
      ? undefined
      : new LongWord(this.merges, this.byteIds, units, at, end);
  }

  private mergeWord(units: Uint16Array, at: number, end: number, out: IdBuffer): void {
    if (this.bytes.length < (end - at) * 3) {
      this.bytes = new Uint8Array((end - at) * 3);
      this.symbols = new Int32Array((end - at) * 3);
    }
    const byteCount = writeWord(this.bytes, units, at, end);
    if (this.takeWholeWord(this.bytes, byteCount, out)) {
      return;
    }
    const count = this.readSymbols(this.bytes, byteCount, this.symbols);
    if (count > mostLinearSymbols) {
      const merge = new LongWordMerge(this.merges, this.symbols.slice(0, count), count);
      merge.step(Number.POSITIVE_INFINITY);
      merge.write(Number.POSITIVE_INFINITY, out);
      return;
    }
    const remaining = mergeShortWord(this.merges, this.symbols, count);
    for (let index = 0; index < remaining; index += 1) {
      const id = this.symbols[index]!;
      if (id !== unknownByte) {
        out.push(id);
      }
    }
  }

  private takeWholeWord(bytes: Uint8Array, byteCount: number, out: IdBuffer): boolean {
    const id = this.ignoreMerges ? this.words.find(bytes, 0, byteCount) : -1;
    if (id >= 0) {
      out.push(id);
    }
    return id >= 0;
  }

  /** One symbol per byte, none for a byte that is dropped. */
  private readSymbols(bytes: Uint8Array, byteCount: number, symbols: Int32Array): number {
    let count = 0;
    for (let index = 0; index < byteCount; index += 1) {
      const id = this.byteIds[bytes[index]!]!;
      if (id >= 0) {
        symbols[count] = id;
        count += 1;
      }
    }
    return count;
  }
}

/** Writes `units[at, end)` as UTF-8 and returns how many bytes that are. */
function writeWord(bytes: Uint8Array, units: Uint16Array, at: number, end: number): number {
  let length = 0;
  for (let index = at; index < end; index += 1) {
    const unit = units[index]!;
    if (unit < 0x80) {
      bytes[length] = unit;
      length += 1;
    } else if (isLeadSurrogate(unit)) {
      index += 1;
      length = writeUtf8(bytes, length, joinSurrogates(unit, units[index]!));
    } else {
      length = writeUtf8(bytes, length, unit);
    }
  }
  return length;
}
