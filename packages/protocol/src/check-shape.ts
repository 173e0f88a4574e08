// Hot path: once per message. Budget 1 µs for a message of 100 values.

/** Deepest nesting that a message may have. Ours have 8 levels at most. */
const maxDepth = 32;

/** How many values are still to come at each level. Not re-entered: nothing else is called meanwhile. */
const left = new Uint32Array(maxDepth + 1);

/** Bytes behind the first byte of a value of fixed size, by that byte less 0xc0; -1 where a length follows. */
const fixedBytes = Int8Array.of(
  ...[0, 0, 0, 0, -1, -1, -1, -1, -1, -1, 4, 8, 1, 2, 4, 8],
  ...[1, 2, 4, 8, 2, 3, 5, 9, 17, -1, -1, -1, -1, -1, -1, -1],
);

/**
 * Throws a `RangeError` unless the first msgpack value in `bytes` is all there and no deeper than 32 levels. A decoder
 * makes room for as many values as a head promises before it looks for them, so that some bytes of nonsense would cost
 * gigabytes. After this check it makes no more room than there are bytes.
 */
export function checkShape(bytes: Uint8Array): void {
  let at = 0;
  let depth = 0;
  left[0] = 1;
  while (depth >= 0) {
    const values = left[depth] ?? 0;
    if (values === 0) {
      depth -= 1;
      continue;
    }
    left[depth] = values - 1;
    const head = bytes[at];
    if (head === undefined) throw cutShort();
    at += 1;
    if (!isContainer(head)) {
      at += leafBytes(bytes, at, head);
      continue;
    }
    const inside = valuesInside(bytes, at, head);
    at += head < 0xa0 ? 0 : lengthBytes(head);
    if (inside > bytes.length - at) throw cutShort();
    depth += 1;
    if (depth > maxDepth) throw new RangeError("nested too deep");
    left[depth] = inside;
  }
  if (at > bytes.length) throw cutShort();
}

function isContainer(head: number): boolean {
  return head >= 0x80 && (head < 0xa0 || (head >= 0xdc && head < 0xe0));
}

/** How many values an array holds, or keys and values a map. */
function valuesInside(bytes: Uint8Array, at: number, head: number): number {
  if (head < 0x90) return 2 * (head & 0x0f);
  if (head < 0xa0) return head & 0x0f;
  return (head < 0xde ? 1 : 2) * numberAt(bytes, at, lengthBytes(head));
}

/** Of the heads 0xdc to 0xdf: 16-bit and 32-bit lengths by turns. */
function lengthBytes(head: number): number {
  return (head & 1) === 0 ? 2 : 4;
}

/** Bytes behind the first byte of what holds no other values. */
function leafBytes(bytes: Uint8Array, at: number, head: number): number {
  if (head < 0x80 || head >= 0xe0) return 0;
  if (head < 0xc0) return head & 0x1f;
  const fixed = fixedBytes[head - 0xc0] ?? 0;
  if (fixed >= 0) return fixed;
  // Binary (0xc4 to 0xc6), extensions with one byte of type (0xc7 to 0xc9), text (0xd9 to 0xdb).
  const isExtension = head >= 0xc7 && head < 0xca;
  const base = head >= 0xd9 ? 0xd9 : isExtension ? 0xc7 : 0xc4;
  const size = 1 << (head - base);
  return size + (isExtension ? 1 : 0) + numberAt(bytes, at, size);
}

function numberAt(bytes: Uint8Array, at: number, size: number): number {
  let number = 0;
  for (let i = at; i < at + size; i++) number = number * 256 + (bytes[i] ?? 0);
  return number;
}

function cutShort(): RangeError {
  return new RangeError("cut short");
}
