// Hot: encodeWords runs once per word. Bench: bench/tokenizer.bench.ts.

import type { AddedToken } from "../artifact/tokenizer-artifact.ts";
import { type BpeModel, longestWordAtOnce } from "../bpe/bpe-model.ts";
import { IdBuffer } from "../bpe/id-buffer.ts";
import type { LongWord } from "../bpe/long-word.ts";
import { type KnownPrefixes, PrefixReuse } from "../prefix/prefix-reuse.ts";
import type { WordScanner } from "../scan/scan-runs.ts";
import { AddedTokenMatcher } from "./added-token-matcher.ts";
import { mayNeedNfc, NfcPieces } from "./nfc.ts";
import { copyUnits } from "./text-units.ts";

/** How many words one slice of other work (copying, searching, normalizing, merging a long word) counts for. */
const wordsPerSlice = 256;
const unitsPerCopy = 131_072;
const unitsPerSearch = 131_072;
const pairsPerSlice = 4096;
/** A word counts for one more with each of so many UTF-16 units. */
const unitsPerWord = 32;

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

/** What a job is about to do. */
type Phase =
  /** Follow the text through prefixes that were tokenized before. */
  | "walk"
  | "copy"
  /** Find where to stop next: a settled cut, so that what is known there can be kept, or the end. */
  | "plan"
  /** Find the next added token before the stop. */
  | "search"
  | "normalize"
  | "words"
  | "long-word"
  | "done";

/** How a text is encoded. */
export interface EncodeJobOptions {
  /** Whether the tokenizer's own prefix and suffix are added. */
  readonly addSpecial: boolean;
  /** Used instead of a buffer of the job's own: it must hold the text, and no step may interleave. */
  readonly buffer?: Uint16Array | undefined;
  /** What is known of texts before, and learns from this one. */
  readonly prefixes?: KnownPrefixes | undefined;
}

/**
 * Encodes one text in steps. Other jobs of the same tokenizer may run between steps.
 *
 * The text is cut at stops and at added tokens into segments, a segment (normalized if the tokenizer does that) at the
 * added tokens that are looked for after normalizing into windows, and a window into words.
 */
export class EncodeJob {
  private readonly tables: EncodingTables;
  private readonly text: string;
  private readonly addSpecial: boolean;
  private readonly out: IdBuffer;
  private readonly scan: WordScanner;
  private readonly reuse: PrefixReuse | undefined;
  private phase: Phase = "walk";
  /** The text from `base` on. The positions below are of this buffer. */
  private raw: Uint16Array;
  private base = 0;
  private copied = 0;
  /** Where the next segment begins, how far it was searched for an added token, and where it must end. */
  private rawAt = 0;
  private searched = 0;
  private stop = 0;
  /** The added token behind the segment, -1 if there is none; likewise behind the window. */
  private idAfterSegment = -1;
  private idAfterWindow = -1;
  private units: Uint16Array;
  private at = 0;
  private windowEnd = 0;
  private windowResume = 0;
  private segmentEnd = 0;
  private nfc: NfcPieces | undefined;
  private longWord: LongWord | undefined;

  constructor(tables: EncodingTables, text: string, options: EncodeJobOptions) {
    this.tables = tables;
    this.text = text;
    this.addSpecial = options.addSpecial;
    this.scan = tables.makeScanner();
    this.reuse = options.prefixes && new PrefixReuse(options.prefixes, text);
    this.raw = options.buffer ?? noUnits;
    this.units = this.raw;
    this.out = new IdBuffer((text.length >> 2) + 16);
    if (this.addSpecial) {
      this.out.pushAll(tables.prefixIds);
    }
  }

  /** Encodes about `maxWords` words more. True when the text is done. */
  step(maxWords: number): boolean {
    let left = maxWords;
    while (left > 0 && this.phase !== "done") {
      left -= this.advance(left);
    }
    return this.phase === "done";
  }

  /** The ids so far; all of them once `step` has returned true. */
  ids(): Uint32Array {
    return this.out.toArray();
  }

  /** Does a part of the current phase, and returns for how many words it counts. */
  private advance(maxWords: number): number {
    switch (this.phase) {
      case "walk":
        return this.walk();
      case "copy":
        return this.copySlice();
      case "plan":
        return this.plan();
      case "search":
        return this.search();
      case "normalize":
        return this.normalizeSlice();
      case "long-word":
        return this.mergeSlice();
      case "words":
        return this.at < this.windowEnd ? this.encodeWords(maxWords) : this.leaveWindow();
      case "done":
        return maxWords;
    }
  }

  private walk(): number {
    if (this.reuse?.walk(this.out) === false) {
      return wordsPerSlice;
    }
    this.base = this.reuse?.cut ?? 0;
    const length = this.text.length - this.base;
    if (this.raw.length < length) {
      this.raw = new Uint16Array(length);
    }
    this.phase = "copy";
    return 1;
  }

  private copySlice(): number {
    const from = this.base + this.copied;
    const to = Math.min(from + unitsPerCopy, this.text.length);
    copyUnits(this.text, from, to, this.raw, this.copied);
    this.copied = to - this.base;
    if (to === this.text.length) {
      this.phase = "plan";
    }
    return wordsOf(to - from);
  }

  private plan(): number {
    if (this.reuse?.plan(this.raw, this.base) === false) {
      return wordsPerSlice;
    }
    this.stop = (this.reuse?.stop ?? this.text.length) - this.base;
    this.searched = this.rawAt;
    this.phase = "search";
    return 1;
  }

  private search(): number {
    const { rawTokens } = this.tables;
    const from = this.searched;
    const to = Math.min(from + unitsPerSearch, this.stop);
    const found = rawTokens.find(this.raw, from, to, this.stop);
    this.searched = to;
    if (found || to === this.stop) {
      const begin = this.rawAt;
      this.idAfterSegment = found ? rawTokens.match.id : -1;
      this.rawAt = found ? rawTokens.match.end : this.stop;
      this.searched = this.rawAt;
      this.enterSegment(begin, found ? rawTokens.match.at : this.stop);
    }
    return wordsOf(to - from);
  }

  private enterSegment(from: number, end: number): void {
    if (this.tables.normalize && mayNeedNfc(this.raw, from, end)) {
      this.nfc = new NfcPieces(this.text.slice(this.base + from, this.base + end));
      this.phase = "normalize";
      return;
    }
    this.units = this.raw;
    this.segmentEnd = end;
    this.enterWindow(from);
  }

  private normalizeSlice(): number {
    const units = this.nfc?.step();
    if (units !== undefined) {
      this.nfc = undefined;
      this.units = units;
      this.segmentEnd = units.length;
      this.enterWindow(0);
    }
    return wordsPerSlice;
  }

  private enterWindow(from: number): void {
    const { normalizedTokens } = this.tables;
    const end = this.segmentEnd;
    const found = normalizedTokens.find(this.units, from, end, end);
    this.at = from;
    this.windowEnd = found ? normalizedTokens.match.at : end;
    this.idAfterWindow = found ? normalizedTokens.match.id : -1;
    this.windowResume = found ? normalizedTokens.match.end : end;
    this.phase = "words";
  }

  private encodeWords(maxWords: number): number {
    const { model, flags } = this.tables;
    const { units, windowEnd, out, scan } = this;
    let at = this.at;
    let words = 0;
    while (words < maxWords && at < windowEnd) {
      const end = scan(units, at, windowEnd, flags);
      words += wordsOf(end - at);
      if (end - at > longestWordAtOnce) {
        this.longWord = model.startLongWord(units, at, end);
        if (this.longWord !== undefined) {
          this.phase = "long-word";
          at = end;
          break;
        }
      }
      model.encodeWord(units, at, end, out);
      at = end;
    }
    this.at = at;
    return words;
  }

  private mergeSlice(): number {
    if (this.longWord?.step(pairsPerSlice, this.out) !== false) {
      this.longWord = undefined;
      this.phase = "words";
    }
    return wordsPerSlice;
  }

  private leaveWindow(): number {
    if (this.idAfterWindow >= 0) {
      this.out.push(this.idAfterWindow);
      this.enterWindow(this.windowResume);
    } else if (this.idAfterSegment >= 0) {
      this.out.push(this.idAfterSegment);
      this.phase = "search";
    } else {
      this.leaveStop();
    }
    return 1;
  }

  private leaveStop(): void {
    if (this.base + this.stop < this.text.length) {
      this.reuse?.record(this.out);
      this.phase = "plan";
      return;
    }
    if (this.addSpecial) {
      this.out.pushAll(this.tables.suffixIds);
    }
    this.phase = "done";
  }
}

const noUnits = new Uint16Array();

function wordsOf(units: number): number {
  return 1 + Math.floor(units / unitsPerWord);
}
