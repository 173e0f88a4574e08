/** Strings that tokenizers disagree about: all scripts, every white space, digits, contractions, emoji, long runs. */

const pieces: readonly string[] = [
  ..."abcXYZ 019  \t\n\r",
  " ",
  "  ",
  "   \n",
  "\r\n",
  "\n\n\n",
  "\u0085",
  "\u00a0",
  "\u1680",
  "\u2003",
  "\u2028",
  "\u202f",
  "\u3000",
  "\ufeff",
  "\u200b",
  "\u200d",
  "'s",
  "'S",
  "'ſ",
  "'t",
  "'re",
  "'RE",
  "'ve",
  "'m",
  "'ll",
  "'LL",
  "'Ll",
  "'d",
  "'D",
  "'",
  "''",
  "’s",
  "'x",
  "can't",
  "I'LL",
  "Hello",
  " world",
  "HELLO",
  "helloWorld",
  "XMLHttpRequest",
  "ǅungla",
  "İstanbul",
  "straße",
  "ﬁ",
  "K",
  "ʰʲ",
  "ªº",
  "1",
  "12",
  "123",
  "1234",
  "12345678",
  "٣",
  "٣٤٥٦",
  "१२३४",
  "½",
  "Ⅷ",
  "①",
  "²",
  "𝟘𝟙",
  "৪",
  "〇",
  "é",
  "e\u0301",
  "a\u0308\u0304",
  "\u0301",
  "한국어",
  "\u1112\u1161\u11ab",
  "日本語",
  "中文字符",
  "がぎ",
  "か\u3099",
  "ไทย",
  "हिन्दी",
  "العربية",
  "עברית",
  "Ελληνικά",
  "Русский",
  "ქართული",
  "አማርኛ",
  "Å",
  "豈",
  "😀",
  "👩‍👩‍👧‍👦",
  "🇩🇪",
  "👍🏽",
  "❤️",
  "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "𝒜𝓑",
  "𐐀𐐨",
  "𒀀",
  "🀄",
  ".",
  ",",
  "!",
  "?",
  "...",
  "///",
  "//\n",
  "/\r\n/",
  "#",
  "$",
  "€",
  "+",
  "=",
  "<",
  ">",
  "<|",
  "|>",
  "(",
  ")",
  "[]",
  "{}",
  "_",
  "-",
  "—",
  "“”",
  "…",
  "•",
  "©",
  "™",
  "\\",
  '"',
  "`",
  "~",
  "^",
  "&",
  "@",
  "%",
  "*",
  "<|im_start|>",
  "<|im_end|>",
  "<|endoftext|>",
  "<|im_",
  "start|>",
  "<|im_start",
  "<|endoftext|",
  "<|eot_id|>",
  "<tool_call>",
  "function",
  "return",
  "    ",
  "        ",
  "\t\t",
  "def f(x):\n    return x",
  "for (let i = 0; i < n; i++) {\n",
  "http://example.com/a/b?c=d",
  "a@b.c",
  "0x1F",
  "3.14159",
  "1,000,000",
  "\u0000",
  "\u0007",
  "\u001b",
  "\u007f",
  "\u00ad",
  "\ue000",
  "\ufffd",
  "\ud800",
  "\udc00",
];

/** A generator of 32-bit numbers that repeats from its seed. */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** `count` strings, the same for the same seed. */
export function fuzzTexts(count: number, seed: number): string[] {
  const next = seededNumbers(seed);
  return Array.from({ length: count }, (_, index) => oneText(next, index % 8));
}

function oneText(next: () => number, kind: number): string {
  const length = 1 + (next() % 24);
  let text = "";
  for (let index = 0; index < length; index += 1) {
    text += onePiece(next, kind);
  }
  return text;
}

function onePiece(next: () => number, kind: number): string {
  const piece = pieces[next() % pieces.length] ?? "";
  switch (kind) {
    case 0:
      return randomCodePoint(next, 0x110000);
    case 1:
      return randomCodePoint(next, 0x3000);
    case 2:
      return piece.repeat(1 + (next() % 6));
    case 3:
      return next() % 2 === 0 ? piece : randomCodePoint(next, 0x20000);
    case 4:
      return next() % 3 === 0 ? " " : piece;
    default:
      return piece;
  }
}

function randomCodePoint(next: () => number, limit: number): string {
  return String.fromCodePoint(next() % limit);
}
