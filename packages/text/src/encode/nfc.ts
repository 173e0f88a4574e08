import { LongNfcPiece } from "./long-nfc-piece.ts";
import { orderMarks } from "./order-marks.ts";
import { copyUnits } from "./text-units.ts";

/** Below this code point text is in normalization form C whatever stands where. */
const firstThatMayChange = 0x300;
const unitsPerPiece = 16_384;
/** Where a piece cannot be cut within so many units more it is normalized in steps of its own. */
const mostUnitsMore = 4096;

/** Whether `units[from, to)` may differ from its normalization form C. */
export function mayNeedNfc(units: Uint16Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    if (units[at]! >= firstThatMayChange) {
      return true;
    }
  }
  return false;
}

/** Normalizes a text to form C piece by piece. Pieces end where no character can combine with the one before it. */
export class NfcPieces {
  private readonly text: string;
  private readonly pieces: string[] = [];
  private at = 0;
  private longPiece: LongNfcPiece | undefined;
  private units: Uint16Array | undefined;
  private copiedPieces = 0;
  private copiedUnits = 0;

  constructor(text: string) {
    this.text = text;
  }

  /**
   * Normalizes about 16,384 units more, or 4,096 code points where the text cannot be cut, or copies what was normalized. At
   * the end the units of the normalized text, lone surrogates replaced; undefined before.
   */
  step(): Uint16Array | undefined {
    if (this.longPiece !== undefined) {
      this.stepLongPiece(this.longPiece);
    } else if (this.at < this.text.length) {
      this.normalizePiece();
    } else {
      return this.copy();
    }
    return undefined;
  }

  private normalizePiece(): void {
    const end = this.pieceEnd();
    if (end === undefined) {
      this.longPiece = new LongNfcPiece(this.text, this.at, this.pieces);
      return;
    }
    this.pieces.push(orderMarks(this.text.slice(this.at, end)).normalize("NFC"));
    this.at = end;
  }

  private stepLongPiece(piece: LongNfcPiece): void {
    if (piece.step()) {
      this.at = piece.at;
      this.longPiece = undefined;
    }
  }

  /** Copies about 16,384 units. */
  private copy(): Uint16Array | undefined {
    this.units ??= new Uint16Array(this.pieces.reduce((sum, { length }) => sum + length, 0));
    const to = this.copiedUnits + unitsPerPiece;
    while (this.copiedPieces < this.pieces.length && this.copiedUnits < to) {
      const piece = this.pieces[this.copiedPieces]!;
      copyUnits(piece, 0, piece.length, this.units, this.copiedUnits);
      this.copiedPieces += 1;
      this.copiedUnits += piece.length;
    }
    return this.copiedPieces === this.pieces.length ? this.units : undefined;
  }

  /** Undefined if there is no place to cut for long. */
  private pieceEnd(): number | undefined {
    const from = this.at + unitsPerPiece;
    const { text } = this;
    if (from >= text.length) {
      return text.length;
    }
    const to = Math.min(from + mostUnitsMore, text.length);
    for (let end = from; end < to; end += 1) {
      if (neverCombines(text.charCodeAt(end))) {
        return end;
      }
    }
    return to === text.length ? to : undefined;
  }
}

/**
 * Starters that are in form C and no second part of any composition: ASCII, letters of the scripts that are written most,
 * and what begins the surrogate pairs of emoji.
 */
const startersThatStay: readonly (readonly [first: number, last: number])[] = [
  [0x00, 0x7f],
  [0x391, 0x3a1],
  [0x410, 0x418],
  [0x43a, 0x44f],
  [0x5d0, 0x5ea],
  [0x627, 0x64a],
  [0xe01, 0xe30],
  [0x904, 0x928],
  [0x1100, 0x1112],
  [0x3041, 0x3096],
  [0x30a1, 0x30fa],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xd83c, 0xd83e],
];

function neverCombines(unit: number): boolean {
  return startersThatStay.some(([first, last]) => unit >= first && unit <= last);
}
