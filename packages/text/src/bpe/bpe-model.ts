// Hot: encodeWord once per word. Budget: 0.3 µs a token. Bench: bench/tokenizer.bench.ts.

import { writeUtf8 } from "../artifact/utf8.ts";
import { isLeadSurrogate, joinSurrogates } from "../scan/scan-runs.ts";
import type { IdBuffer } from "./id-buffer.ts";
import { LongWordMerge } from "./long-word-merge.ts";
import { mergeShortWord, mostLinearSymbols } from "./merge-short-word.ts";
import type { MergeTable } from "./merge-table.ts";
import type { TokenByteTable } from "./token-byte-table.ts";
import { hashWord, longestRememberedWord, WordMemo } from "./word-memo.ts";

/** Words above this many UTF-16 units are merged in steps by whoever encodes in steps: 16,384 take about 8 ms. */
export const longestWordAtOnce = 16_384;

/** The ids of one word: byte-level BPE over the tables of a tokenizer. */
export class BpeModel {
  private readonly merges: MergeTable;
  private readonly words: TokenByteTable;
  private readonly ignoreMerges: boolean;
  /** The id of each byte as a token, -1 where the vocabulary has none. */
  private readonly byteIds: Int32Array;
  private readonly memo = new WordMemo();
  // Scratch of one call: nobody holds them across calls.
  private bytes = new Uint8Array(1024);
  private symbols = new Int32Array(1024);
  private byteCount = 0;

  constructor(merges: MergeTable, words: TokenByteTable, ignoreMerges: boolean) {
    this.merges = merges;
    this.words = words;
    this.ignoreMerges = ignoreMerges;
    this.byteIds = Int32Array.from({ length: 256 }, (_, byte) =>
      words.find(Uint8Array.of(byte), 0, 1),
    );
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

  /** The merge of a long word, to be run in steps; undefined if the word is one token. Its id is then in `out`. */
  startLongWord(
    units: Uint16Array,
    at: number,
    end: number,
    out: IdBuffer,
  ): LongWordMerge | undefined {
    this.writeBytes(units, at, end);
    return this.takeWholeWord(out)
      ? undefined
      : new LongWordMerge(this.merges, this.symbols, this.readSymbols());
  }

  private mergeWord(units: Uint16Array, at: number, end: number, out: IdBuffer): void {
    this.writeBytes(units, at, end);
    if (this.takeWholeWord(out)) {
      return;
    }
    const count = this.readSymbols();
    if (count > mostLinearSymbols) {
      const merge = new LongWordMerge(this.merges, this.symbols, count);
      merge.step(Number.POSITIVE_INFINITY);
      merge.writeTo(out);
      return;
    }
    const remaining = mergeShortWord(this.merges, this.symbols, count);
    for (let index = 0; index < remaining; index += 1) {
      out.push(this.symbols[index]!);
    }
  }

  private takeWholeWord(out: IdBuffer): boolean {
    const id = this.ignoreMerges ? this.words.find(this.bytes, 0, this.byteCount) : -1;
    if (id >= 0) {
      out.push(id);
    }
    return id >= 0;
  }

  private writeBytes(units: Uint16Array, at: number, end: number): void {
    if (this.bytes.length < (end - at) * 3) {
      this.bytes = new Uint8Array((end - at) * 3);
      this.symbols = new Int32Array((end - at) * 3);
    }
    let length = 0;
    for (let index = at; index < end; index += 1) {
      const unit = units[index]!;
      if (unit < 0x80) {
        this.bytes[length] = unit;
        length += 1;
      } else if (isLeadSurrogate(unit)) {
        index += 1;
        length = writeUtf8(this.bytes, length, joinSurrogates(unit, units[index]!));
      } else {
        length = writeUtf8(this.bytes, length, unit);
      }
    }
    this.byteCount = length;
  }

  /** One symbol per byte. A byte that is no token is dropped, as the reference does. */
  private readSymbols(): number {
    let count = 0;
    for (let index = 0; index < this.byteCount; index += 1) {
      const id = this.byteIds[this.bytes[index]!]!;
      if (id >= 0) {
        this.symbols[count] = id;
        count += 1;
      }
    }
    return count;
  }
}
