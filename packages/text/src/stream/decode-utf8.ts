// Hot: once per token that is no whole text by itself. Bench: bench/tokenizer.bench.ts.

const replacement = "\ufffd";

/** What `decodeUtf8` made of its bytes. One object, overwritten by each call. */
export interface DecodedUtf8 {
  text: string;
  /** How many bytes at the end begin a character that is not complete: 0 to 3. They are not in `text`. */
  openBytes: number;
}

const decoded: DecodedUtf8 = { text: "", openBytes: 0 };

/**
 * Decodes UTF-8 up to the last complete character. Each longest run of bytes that no character begins with becomes one
 * U+FFFD, as the Encoding standard says. A byte order mark is text.
 */
export function decodeUtf8(bytes: Uint8Array, length: number): DecodedUtf8 {
  decoded.text = "";
  decoded.openBytes = 0;
  let at = 0;
  while (at < length) {
    const first = bytes[at]!;
    if (first < 0x80) {
      decoded.text += String.fromCharCode(first);
      at += 1;
      continue;
    }
    const needed = continuationCount(first);
    const present = validContinuations(bytes, at, length, needed);
    if (needed === 0 || (present < needed && at + 1 + present < length)) {
      decoded.text += replacement;
      at += 1 + present;
    } else if (present < needed) {
      decoded.openBytes = length - at;
      return decoded;
    } else {
      decoded.text += String.fromCodePoint(readCodePoint(bytes, at, needed));
      at += 1 + needed;
    }
  }
  return decoded;
}

/** How many bytes must follow a first byte of 0x80 or more; 0 if no character begins with it. */
function continuationCount(first: number): number {
  if (first < 0xc2 || first > 0xf4) {
    return 0;
  }
  if (first < 0xe0) {
    return 1;
  }
  return first < 0xf0 ? 2 : 3;
}

/** How many of the bytes behind `at` can follow in the same character, at most `needed`. */
function validContinuations(bytes: Uint8Array, at: number, length: number, needed: number): number {
  let count = 0;
  while (count < needed && at + 1 + count < length) {
    const byte = bytes[at + 1 + count]!;
    const isValid = count === 0 ? isSecondByte(bytes[at]!, byte) : byte >= 0x80 && byte <= 0xbf;
    if (!isValid) {
      break;
    }
    count += 1;
  }
  return count;
}

/** Second bytes are narrower than the others where they would spell an overlong form or a surrogate. */
function isSecondByte(first: number, second: number): boolean {
  switch (first) {
    case 0xe0:
      return second >= 0xa0 && second <= 0xbf;
    case 0xed:
      return second >= 0x80 && second <= 0x9f;
    case 0xf0:
      return second >= 0x90 && second <= 0xbf;
    case 0xf4:
      return second >= 0x80 && second <= 0x8f;
    default:
      return second >= 0x80 && second <= 0xbf;
  }
}

function readCodePoint(bytes: Uint8Array, at: number, continuations: number): number {
  let codePoint = bytes[at]! & (0x3f >> continuations);
  for (let index = 1; index <= continuations; index += 1) {
    codePoint = (codePoint << 6) | (bytes[at + index]! & 0x3f);
  }
  return codePoint;
}
