/** Below this code point text is in normalization form C whatever stands where. */
const firstThatMayChange = 0x300;
const unitsPerPiece = 65_536;

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

  constructor(text: string) {
    this.text = text;
  }

  /** Normalizes one more piece, about 65,536 units where the text can be cut there. True at the end. */
  step(): boolean {
    const end = this.pieceEnd();
    this.pieces.push(this.text.slice(this.at, end).normalize("NFC"));
    this.at = end;
    return end === this.text.length;
  }

  /** The normalized text, once `step` has returned true. */
  finish(): string {
    return this.pieces.join("");
  }

  private pieceEnd(): number {
    let end = this.at + unitsPerPiece;
    while (end < this.text.length && !neverCombines(this.text.charCodeAt(end))) {
      end += 1;
    }
    return Math.min(end, this.text.length);
  }
}

/** ASCII and Han: starters that are no second part of any composition. */
function neverCombines(unit: number): boolean {
  return unit < 0x80 || (unit >= 0x4e00 && unit <= 0x9fff);
}
