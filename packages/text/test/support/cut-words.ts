import { copyUnits, textOfUnits } from "../../src/encode/text-units.ts";
import type { WordScanner } from "../../src/scan/scan-runs.ts";
import { characterFlags } from "../../src/unicode/character-flags.ts";

/** The words that a scanner cuts a text into. */
export function cutWords(scan: WordScanner, text: string): string[] {
  const units = new Uint16Array(text.length);
  copyUnits(text, 0, text.length, units, 0);
  const words: string[] = [];
  for (let at = 0; at < units.length; ) {
    const end = scan(units, at, units.length, characterFlags());
    words.push(textOfUnits(units, at, end));
    at = end;
  }
  return words;
}
