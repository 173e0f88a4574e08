/** Lays the bytes of tokens out as an artifact holds them: one after the other, with offsets. Missing ones are empty. */
export function layOutTokens(
  tokens: ReadonlyArray<Uint8Array | undefined>,
  size: number,
): { readonly tokenBytes: Uint8Array; readonly tokenOffsets: Uint32Array } {
  const tokenOffsets = new Uint32Array(size + 1);
  for (let id = 0; id < size; id += 1) {
    tokenOffsets[id + 1] = tokenOffsets[id]! + (tokens[id]?.length ?? 0);
  }
  const tokenBytes = new Uint8Array(tokenOffsets[size]!);
  for (let id = 0; id < size; id += 1) {
    const bytes = tokens[id];
    if (bytes !== undefined) {
      tokenBytes.set(bytes, tokenOffsets[id]!);
    }
  }
  return { tokenBytes, tokenOffsets };
}
