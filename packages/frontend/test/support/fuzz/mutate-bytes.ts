import type { SeededRandom } from "@baton/runtime";

/** Bytes that mean something to somebody on the way: to HTTP, to JSON, to UTF-8. */
const tokens: readonly Buffer[] = [
  '"',
  "\\",
  "\\u",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "-",
  "e",
  "1e999",
  "NaN",
  "null",
  "true",
  "0",
  "\r\n",
  "\r",
  "\n",
  "\0",
  " ",
  "\t",
  '"model":',
  '"stream":true,',
  '"n":128,',
  '"logprobs":true,',
  '"__proto__":',
  '"messages":',
  '"prompt":',
  "//",
  "/*",
  "\u2028",
  "\ufeff",
]
  .map((text) => Buffer.from(text))
  .concat([Buffer.of(0xff), Buffer.of(0xc0, 0xaf), Buffer.of(0xed, 0xa0, 0x80), Buffer.of(0x80)]);

/** A copy of some bytes with a few mistakes in it. `other`: bytes that a piece may come from. */
export function mutateBytes(bytes: Buffer, other: Buffer, random: SeededRandom): Buffer {
  let mutated: Buffer = Buffer.from(bytes);
  const times = 1 + below(random, 3);
  for (let time = 0; time < times; time += 1) mutated = mutateOnce(mutated, other, random);
  return mutated;
}

function mutateOnce(bytes: Buffer, other: Buffer, random: SeededRandom): Buffer {
  const at = below(random, bytes.length + 1);
  const length = Math.min(1 + below(random, 16), bytes.length - at);
  switch (below(random, 8)) {
    case 0:
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(random, 8));
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = below(random, 256);
      return bytes;
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
    case 4:
      return bytes.subarray(0, at);
    case 5: {
      const from = below(random, other.length + 1);
      const piece = other.subarray(from, from + 1 + below(random, 64));
      return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
    }
    default: {
      const token = tokens[below(random, tokens.length)] ?? Buffer.alloc(0);
      return Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)]);
    }
  }
}

/** A whole number from 0 to `limit` − 1. */
export function below(random: SeededRandom, limit: number): number {
  return Math.floor(random.number() * limit);
}
