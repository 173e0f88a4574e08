import { utf8Length, writeUtf8 } from "../artifact/utf8.ts";
import { isLeadSurrogate, joinSurrogates } from "../scan/scan-runs.ts";
import type { IdBuffer } from "./id-buffer.ts";
import { LongWordMerge } from "./long-word-merge.ts";
import type { MergeTable } from "./merge-table.ts";

/** Measuring or reading a unit, or writing an id, costs about an eighth of merging a pair. */
const unitsPerPair = 8;

/** One long word on its way to ids, in steps: it is measured, read as bytes, merged and written. */
export class LongWord {
  private readonly merges: MergeTable;
  private readonly byteIds: Int32Array;
  private readonly units: Uint16Array;
  private readonly end: number;
  private byteCount = 0;
  private measured: number;
  private symbols: Int32Array | undefined;
  private symbolCount = 0;
  private read: number;
  private merge: LongWordMerge | undefined;
  private isMerged = false;

  /** The word `units[at, end)`, which must stay as it is. `byteIds` are the symbols of the bytes, below 0 for one that is dropped. */
  constructor(
    merges: MergeTable,
    byteIds: Int32Array,
    units: Uint16Array,
    at: number,
    end: number,
  ) {
    this.merges = merges;
    this.byteIds = byteIds;
    this.units = units;
    this.end = end;
    this.measured = at;
    this.read = at;
  }

  /** Does the work of merging about `maxPairs` pairs. True when all ids are appended to `out`. */
  step(maxPairs: number, out: IdBuffer): boolean {
    const maxUnits = maxPairs * unitsPerPair;
    if (this.measured < this.end) {
      this.measure(maxUnits);
      return false;
    }
    if (this.merge === undefined) {
      this.readSymbols(maxUnits);
      return false;
    }
    if (!this.isMerged) {
      this.isMerged = this.merge.step(maxPairs);
      return false;
    }
    return this.merge.write(maxUnits, out);
  }

  private measure(maxUnits: number): void {
    const to = Math.min(this.measured + maxUnits, this.end);
    this.byteCount += utf8Length(this.units, this.measured, to);
    this.measured = to;
  }

  /** One symbol per byte, none for a byte that is dropped. */
  private readSymbols(maxUnits: number): void {
    const { units, byteIds } = this;
    this.symbols ??= new Int32Array(this.byteCount);
    const to = Math.min(this.read + maxUnits, this.end);
    let count = this.symbolCount;
    let at = this.read;
    while (at < to) {
      const isPair = isLeadSurrogate(units[at]!);
      const codePoint = isPair ? joinSurrogates(units[at]!, units[at + 1]!) : units[at]!;
      const length = writeUtf8(bytes, 0, codePoint);
      for (let index = 0; index < length; index += 1) {
        const id = byteIds[bytes[index]!]!;
        if (id >= 0) {
          this.symbols[count] = id;
          count += 1;
        }
      }
      at += isPair ? 2 : 1;
    }
    this.read = at;
    this.symbolCount = count;
    if (at >= this.end) {
      this.merge = new LongWordMerge(this.merges, this.symbols, count);
    }
  }
}

/** The bytes of one code point, within `readSymbols`. */
const bytes = new Uint8Array(4);
