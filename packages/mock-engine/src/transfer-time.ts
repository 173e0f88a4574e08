export interface KvShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly bytesPerNumber: number;
}

/** KV cache bytes that one token takes: a key and a value in each layer and head. */
export function kvBytesPerToken(shape: KvShape): number {
  return shape.layers * 2 * shape.kvHeads * shape.headDim * shape.bytesPerNumber;
}

/** Time to move the KV of `tokens` over a link of `gigabytesPerSecond` (10^9 bytes). 0 or less: no delay. */
export function transferMs(
  tokens: number,
  bytesPerToken: number,
  gigabytesPerSecond: number,
): number {
  if (gigabytesPerSecond <= 0) return 0;
  return ((tokens * bytesPerToken) / (gigabytesPerSecond * 1e9)) * 1000;
}
