// Hot: encodeWords runs once per word. Bench: bench/tokenizer.bench.ts.

import type { AddedToken } from "../artifact/tokenizer-artifact.ts";
import { type BpeModel, longestWordAtOnce } from "../bpe/bpe-model.ts";
import { IdBuffer } from "../bpe/id-buffer.ts";
import type { LongWordMerge } from "../bpe/long-word-merge.ts";
import type { WordScanner } from "../scan/scan-runs.ts";
import { AddedTokenMatcher } from "./added-token-matcher.ts";
import { mayNeedNfc, NfcPieces } from "./nfc.ts";
import { copyUnits, textOfUnits } from "./text-units.ts";

/** How many words one slice of other work (copying, normalizing, merging a long word) counts for. */
const wordsPerSlice = 256;
const unitsPerCopy = 131_072;
const pairsPerSlice = 4096;

/** What a tokenizer needs to encode. Shared by all its jobs. */
export interface EncodingTables {
  readonly model: BpeModel;
  readonly flags: Uint8Array;
  /** A scanner for one text; a stateful one is made anew each time. */
  readonly makeScanner: () => WordScanner;
  readonly normalize: boolean;
  readonly rawTokens: AddedTokenMatcher;
  readonly normalizedTokens: AddedTokenMatcher;
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
}

/** The two sets of added tokens: those looked for in the text as it is, and those looked for once it is normalized. */
export function makeMatchers(
  tokens: readonly AddedToken[],
  normalize: boolean,
): Pick<EncodingTables, "rawTokens" | "normalizedTokens"> {
  const normalized = tokens.filter((token) => token.normalized);
  return {
    rawTokens: new AddedTokenMatcher(tokens.filter((token) => !token.normalized)),
    normalizedTokens: new AddedTokenMatcher(
      normalized.map(({ id, content }) => ({
        id,
        content: normalize ? content.normalize("NFC") : content,
      })),
    ),
  };
}

/**
 * Encodes one text in steps. Other jobs of the same tokenizer may run between steps.
 *
 * The text is cut at added tokens into segments, a segment (normalized if the tokenizer does that) at the added tokens
 * that are looked for after normalizing into windows, and a window into words.
 */
export class EncodeJob {
  private readonly tables: EncodingTables;
  private readonly text: string;
  private readonly addSpecial: boolean;
  private readonly out: IdBuffer;
  private readonly scan: WordScanner;
  private readonly raw: Uint16Array;
  private copied = 0;
  private rawAt = 0;
  /** The added token behind the segment, -1 at the end of the text; likewise behind the window. */
  private idAfterSegment = -1;
  private idAfterWindow = -1;
  private units: Uint16Array;
  private at = 0;
  private windowEnd = 0;
  private windowResume = 0;
  private segmentEnd = 0;
  private nfc: NfcPieces | undefined;
  private longWord: LongWordMerge | undefined;
  private finished = false;

  /** `buffer`, if given, is used instead of one of the job's own: it must hold the text, and no step may interleave. */
  constructor(tables: EncodingTables, text: string, addSpecial: boolean, buffer?: Uint16Array) {
    this.tables = tables;
    this.text = text;
    this.addSpecial = addSpecial;
    this.scan = tables.makeScanner();
    this.raw = buffer ?? new Uint16Array(text.length);
    this.units = this.raw;
    this.out = new IdBuffer((text.length >> 2) + 16);
    if (addSpecial) {
      this.pushAll(tables.prefixIds);
    }
  }

  /** Encodes about `maxWords` words more. True when the text is done. */
  step(maxWords: number): boolean {
    let left = maxWords;
    while (left > 0 && !this.finished) {
      left -= this.advance(left);
    }
    return this.finished;
  }

  /** The ids so far; all of them once `step` has returned true. */
  ids(): Uint32Array {
    return this.out.toArray();
  }

  private advance(maxWords: number): number {
    if (this.copied < this.text.length) {
      return this.copySlice();
    }
    if (this.nfc !== undefined) {
      return this.normalizeSlice(this.nfc);
    }
    if (this.longWord !== undefined) {
      return this.mergeSlice(this.longWord);
    }
    if (this.at < this.windowEnd) {
      return this.encodeWords(maxWords);
    }
    this.leaveWindow();
    return 1;
  }

  private copySlice(): number {
    const to = Math.min(this.copied + unitsPerCopy, this.text.length);
    copyUnits(this.text, this.copied, to, this.raw);
    this.copied = to;
    if (to === this.text.length) {
      this.enterSegment();
    }
    return wordsPerSlice;
  }

  private normalizeSlice(nfc: NfcPieces): number {
    if (nfc.step()) {
      const text = nfc.finish();
      this.units = new Uint16Array(text.length);
      copyUnits(text, 0, text.length, this.units);
      this.nfc = undefined;
      this.at = 0;
      this.segmentEnd = text.length;
      this.enterWindow(0);
    }
    return wordsPerSlice;
  }

  private mergeSlice(merge: LongWordMerge): number {
    if (merge.step(pairsPerSlice)) {
      merge.writeTo(this.out);
      this.longWord = undefined;
    }
    return wordsPerSlice;
  }

  private encodeWords(maxWords: number): number {
    const { model, flags } = this.tables;
    const { units, windowEnd, out, scan } = this;
    let at = this.at;
    let words = 0;
    while (words < maxWords && at < windowEnd) {
      const end = scan(units, at, windowEnd, flags);
      words += 1;
      if (end - at > longestWordAtOnce) {
        this.longWord = model.startLongWord(units, at, end, out);
        at = end;
        break;
      }
      model.encodeWord(units, at, end, out);
      at = end;
    }
    this.at = at;
    return words;
  }

  private enterSegment(): void {
    const { rawTokens, normalize } = this.tables;
    const from = this.rawAt;
    const found = rawTokens.find(this.raw, from, this.text.length);
    const end = found ? rawTokens.match.at : this.text.length;
    this.idAfterSegment = found ? rawTokens.match.id : -1;
    this.rawAt = found ? rawTokens.match.end : this.text.length;
    if (normalize && mayNeedNfc(this.raw, from, end)) {
      this.nfc = new NfcPieces(textOfUnits(this.raw, from, end));
      return;
    }
    this.units = this.raw;
    this.segmentEnd = end;
    this.enterWindow(from);
  }

  private enterWindow(from: number): void {
    const { normalizedTokens } = this.tables;
    const found = normalizedTokens.find(this.units, from, this.segmentEnd);
    this.at = from;
    this.windowEnd = found ? normalizedTokens.match.at : this.segmentEnd;
    this.idAfterWindow = found ? normalizedTokens.match.id : -1;
    this.windowResume = found ? normalizedTokens.match.end : this.segmentEnd;
  }

  private leaveWindow(): void {
    if (this.idAfterWindow >= 0) {
      this.out.push(this.idAfterWindow);
      this.enterWindow(this.windowResume);
    } else if (this.idAfterSegment >= 0) {
      this.out.push(this.idAfterSegment);
      this.enterSegment();
    } else {
      if (this.addSpecial) {
        this.pushAll(this.tables.suffixIds);
      }
      this.finished = true;
    }
  }

  private pushAll(ids: readonly number[]): void {
    for (const id of ids) {
      this.out.push(id);
    }
  }
}
