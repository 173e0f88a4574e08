import { orderMarks } from "./order-marks.ts";
import { copyUnits } from "./text-units.ts";

/** Below this code point text is in normalization form C whatever stands where. */
const firstThatMayChange = 0x300;
const unitsPerPiece = 16_384;

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
  private units = new Uint16Array();
  private length = 0;
  private copiedPieces = 0;
  private copiedUnits = 0;

  constructor(text: string) {
    this.text = text;
  }

  /**
   * Normalizes one more piece, about 16,384 units where the text can be cut there, or copies one. At the end the units of
   * the normalized text, lone surrogates replaced; undefined before.
   */
  step(): Uint16Array | undefined {
    if (this.at < this.text.length) {
      this.normalizePiece();
      if (this.at < this.text.length) {
        return undefined;
      }
      this.units = new Uint16Array(this.length);
    }
    this.copyPiece();
    return this.copiedPieces >= this.pieces.length ? this.units : undefined;
  }

  private normalizePiece(): void {
    const end = this.pieceEnd();
    const piece = orderMarks(this.text.slice(this.at, end)).normalize("NFC");
    this.pieces.push(piece);
    this.length += piece.length;
    this.at = end;
  }

  private copyPiece(): void {
    const piece = this.pieces[this.copiedPieces] ?? "";
    copyUnits(piece, 0, piece.length, this.units, this.copiedUnits);
    this.copiedPieces += 1;
    this.copiedUnits += piece.length;
  }

  private pieceEnd(): number {
    let end = this.at + unitsPerPiece;
    while (end < this.text.length && !neverCombines(this.text.charCodeAt(end))) {
      end += 1;
    }
    return Math.min(end, this.text.length);
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
  [0x3041, 0x3096],
  [0x30a1, 0x30fa],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xd83c, 0xd83e],
];

function neverCombines(unit: number): boolean {
  return startersThatStay.some(([first, last]) => unit >= first && unit <= last);
}
