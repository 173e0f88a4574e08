import { IdBuffer } from "../bpe/id-buffer.ts";
import { classCount, classOf, decomposes } from "./combining-classes.ts";
import { textOfCodePoints } from "./order-marks.ts";

/** Code points read, or written, in one step. */
const codePointsPerStep = 4096;
/** A piece ends at the first place where it can, once it has so many units. */
const longEnough = 16_384;
/** Of marks of one class in a row no more than the first few can become part of the character before them. */
const headMarks = 16;
/** Units before a place that say whether what stands there combines with them: no character is made of so many. */
const contextUnits = 32;

/** What is to be written: a text, or marks from a place on. */
type Part = string | { readonly marks: IdBuffer; at: number };

/**
 * A piece of text in which no character is one before which text can always be cut, normalized to form C in steps: hundreds
 * of thousands of marks behind one letter, or text of a script whose characters may all combine.
 *
 * Marks are put in canonical order by class, without sorting, and only those that may combine are given to the engine.
 */
export class LongNfcPiece {
  /** Up to where the text is read. In the end a place where it can be cut. */
  at: number;
  private readonly text: string;
  private readonly out: string[];
  /** In canonical order, not yet composed. */
  private piece = "";
  /** Marks behind it, by class. */
  private marks: IdBuffer[] = [];
  private hasMarks = false;
  private isRead = false;
  private readonly parts: Part[] = [];

  /** Reads `text` from `at` on, and appends what it becomes to `out`. */
  constructor(text: string, at: number, out: string[]) {
    this.text = text;
    this.at = at;
    this.out = out;
  }

  /** Reads or writes about 4,096 code points more. True when the piece is written. */
  step(): boolean {
    if (!this.isRead) {
      this.read();
    } else {
      this.writePart();
    }
    return this.isRead && this.parts.length === 0;
  }

  private read(): void {
    for (let left = codePointsPerStep; left > 0 && !this.isRead; left -= 1) {
      if (this.at === this.text.length) {
        this.endRun();
        this.endPiece();
        return;
      }
      this.take(this.text.codePointAt(this.at)!);
    }
  }

  private take(codePoint: number): void {
    const character = String.fromCodePoint(codePoint);
    const parts = classOf(codePoint) === decomposes ? [...character.normalize("NFD")] : [character];
    const first = parts[0]!;
    if (classOf(first.codePointAt(0)!) === 0 && this.endsBefore(first)) {
      this.endPiece();
      return;
    }
    for (const part of parts) {
      this.enter(part, classOf(part.codePointAt(0)!));
    }
    this.at += character.length;
  }

  private enter(character: string, of: number): void {
    if (of === 0) {
      this.endRun();
      this.piece += character;
      return;
    }
    const marks = this.marks[of] ?? new IdBuffer(headMarks);
    marks.push(character.codePointAt(0)!);
    this.marks[of] = marks;
    this.hasMarks = true;
  }

  /** Whether a starter combines with nothing before it, where the piece is long enough to end. */
  private endsBefore(character: string): boolean {
    this.endRun();
    if (this.parts.length > 0) {
      // Marks that combine with nothing stand between.
      return true;
    }
    if (this.piece.length < longEnough) {
      return false;
    }
    const context = this.piece.slice(-contextUnits);
    const together = (context + character).normalize("NFC");
    return together === context.normalize("NFC") + character.normalize("NFC");
  }

  /** Puts the marks behind the piece. Where there are too many it is written, and they behind it. */
  private endRun(): void {
    if (!this.hasMarks) {
      return;
    }
    const { marks } = this;
    this.marks = [];
    this.hasMarks = false;
    let isLong = false;
    for (let of = 1; of < classCount; of += 1) {
      const row = marks[of];
      if (row !== undefined) {
        this.piece += textOfCodePoints(row.ids.subarray(0, Math.min(row.length, headMarks)));
        isLong ||= row.length > headMarks;
      }
    }
    if (isLong) {
      this.weave(marks);
    }
  }

  /** Composes the piece, which ends with the first marks of each class, and puts the others behind those. */
  private weave(marks: readonly (IdBuffer | undefined)[]): void {
    const composed = [...this.piece.normalize("NFC")];
    this.piece = "";
    let from = composed.length;
    while (from > 0 && isMark(composed[from - 1]!)) {
      from -= 1;
    }
    let part = composed.slice(0, from).join("");
    for (let at = from; at < composed.length; at += 1) {
      part += composed[at]!;
      const of = classOf(composed[at]!.codePointAt(0)!);
      const next = composed[at + 1]?.codePointAt(0);
      const row = marks[of];
      if (
        row !== undefined &&
        row.length > headMarks &&
        (next === undefined || classOf(next) !== of)
      ) {
        this.parts.push(part, { marks: row, at: headMarks });
        part = "";
      }
    }
    this.parts.push(part);
  }

  private endPiece(): void {
    this.parts.push(this.piece.normalize("NFC"));
    this.piece = "";
    this.isRead = true;
  }

  private writePart(): void {
    const part = this.parts[0];
    if (part === undefined || typeof part === "string") {
      this.out.push(part ?? "");
      this.parts.shift();
      return;
    }
    const to = Math.min(part.at + codePointsPerStep, part.marks.length);
    this.out.push(textOfCodePoints(part.marks.ids.subarray(part.at, to)));
    part.at = to;
    if (to === part.marks.length) {
      this.parts.shift();
    }
  }
}

/** Whether a character of composed text is no starter. One that decomposes is: those that begin with a mark are never composed. */
function isMark(character: string): boolean {
  const of = classOf(character.codePointAt(0)!);
  return of !== 0 && of !== decomposes;
}
