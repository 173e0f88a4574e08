/** A byte-level BPE vocabulary for the tiny model, learned from a list of common English words. */

/** Special tokens first, then the 256 bytes, then one token a merge. */
export interface TinyVocabulary {
  readonly tokens: readonly string[];
  /** GGUF token types: 3 control, 1 normal. */
  readonly types: readonly number[];
  readonly merges: readonly string[];
}

export const tinySpecialTokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

const words = `the of and to in is you that it he was for on are as with his they at be this have
from or one had by word but not what all were we when your can said there use an each which she do
how their if will up other about out many then them these so some her would make like him into time
has look two more write go see number no way could people my than first water been call who oil its
now find long down day did get come made may part over new sound take only little work know place
year live me back give most very after thing our just name good sentence man think say great where
help through much before line right too mean old any same tell boy follow came want show also around
form three small set put end does another well large must big even such because turn here why ask
went men read need land different home us move try kind hand picture again change off play spell air
away animal house point page letter mother answer found study still learn should world system user
assistant message model token capital city country river color number list name story`
  .split(/\s+/)
  .filter((word) => word !== "");

/** Learns merges until there are `size` tokens. The same size gives the same vocabulary. */
export function buildTinyVocabulary(size: number): TinyVocabulary {
  const tokens = [...tinySpecialTokens, ...byteSymbols()];
  const types = tokens.map((_, index) => (index < tinySpecialTokens.length ? 3 : 1));
  const known = new Set(tokens);
  const merges: string[] = [];
  const pieces = words.flatMap((word) => [[...word], ["Ġ", ...word]]);
  while (tokens.length < size) {
    const pair = mostFrequentPair(pieces);
    if (pair === undefined) throw new RangeError(`${size} tokens are more than the words give`);
    const merged = pair.left + pair.right;
    merges.push(`${pair.left} ${pair.right}`);
    if (!known.has(merged)) {
      known.add(merged);
      tokens.push(merged);
      types.push(1);
    }
    for (const piece of pieces) applyMerge(piece, pair.left, pair.right);
  }
  return { tokens, types, merges };
}

/** The printable stand-ins of the 256 bytes, in the order of GPT-2's table. */
function byteSymbols(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  const symbols: string[] = [];
  for (let byte = 0; byte < 256; byte++) {
    if (printable(byte)) symbols.push(String.fromCharCode(byte));
  }
  const others = 256 - symbols.length;
  for (let index = 0; index < others; index++) symbols.push(String.fromCharCode(256 + index));
  return symbols;
}

interface Pair {
  readonly left: string;
  readonly right: string;
  count: number;
}

function mostFrequentPair(pieces: readonly (readonly string[])[]): Pair | undefined {
  const pairs = new Map<string, Pair>();
  for (const piece of pieces) {
    for (let index = 1; index < piece.length; index++) {
      const left = piece[index - 1] ?? "";
      const right = piece[index] ?? "";
      const pair = pairs.get(`${left} ${right}`);
      if (pair === undefined) pairs.set(`${left} ${right}`, { left, right, count: 1 });
      else pair.count += 1;
    }
  }
  let best: Pair | undefined;
  for (const pair of pairs.values()) {
    if (best === undefined || pair.count > best.count) best = pair;
  }
  return best;
}

function applyMerge(piece: string[], left: string, right: string): void {
  for (let index = 1; index < piece.length; index++) {
    if (piece[index - 1] === left && piece[index] === right) {
      piece.splice(index - 1, 2, left + right);
    }
  }
}
