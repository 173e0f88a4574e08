/**
 * The alphabet in which byte-level tokenizers write their tokens: one printable character per byte. Printable Latin-1
 * stands for itself, the other 68 bytes follow from U+0100 on.
 */
const charactersOfBytes: readonly number[] = makeAlphabet();
const bytesOfCharacters: ReadonlyMap<number, number> = new Map(
  charactersOfBytes.map((character, byte) => [character, byte]),
);

function makeAlphabet(): number[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const standsForItself =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    return standsForItself ? byte : next++;
  });
}

/** The byte that a character of the alphabet stands for; undefined for any other character. */
export function byteOfCharacter(character: number): number | undefined {
  return bytesOfCharacters.get(character);
}

/** The character that stands for a byte. */
export function characterOfByte(byte: number): string {
  return String.fromCharCode(charactersOfBytes[byte]!);
}

/** The bytes that a token's text stands for; undefined if one of its characters is not in the alphabet. */
export function bytesOfTokenText(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) {
    const byte = bytesOfCharacters.get(text.charCodeAt(at));
    if (byte === undefined) {
      return undefined;
    }
    bytes[at] = byte;
  }
  return bytes;
}
