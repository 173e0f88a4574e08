const blocksPerSlab = 256;

/** The token ids of each cached block: what a simulated block "contains". Memory is taken as blocks come into use. */
export class BlockContents {
  private readonly blockSize: number;
  private readonly slabs: (Uint32Array | undefined)[] = [];

  constructor(blockSize: number) {
    this.blockSize = blockSize;
  }

  /** Keeps `blockSize` ids of `tokens` from `offset` as the content of a block. */
  write(id: number, tokens: Uint32Array, offset: number): void {
    const slabIndex = Math.floor(id / blocksPerSlab);
    const slab = this.slabs[slabIndex] ?? new Uint32Array(blocksPerSlab * this.blockSize);
    this.slabs[slabIndex] = slab;
    const start = (id % blocksPerSlab) * this.blockSize;
    for (let i = 0; i < this.blockSize; i++) slab[start + i] = tokens[offset + i]!;
  }

  /** Whether a written block has just the ids of `tokens` from `offset`. */
  equals(id: number, tokens: Uint32Array, offset: number): boolean {
    const slab = this.slabs[Math.floor(id / blocksPerSlab)];
    if (slab === undefined) return false;
    const start = (id % blocksPerSlab) * this.blockSize;
    for (let i = 0; i < this.blockSize; i++) {
      if (slab[start + i] !== tokens[offset + i]) return false;
    }
    return true;
  }
}
