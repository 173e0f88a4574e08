/** Blocks that became reusable, in order, each the child of the one before; the first the child of `parent`. */
export interface StoredKvEvent {
  readonly kind: "stored";
  /** Sequence hash (8 bytes) of the block before the first; none when the first begins a sequence. */
  readonly parent: Uint8Array | undefined;
  /** 8 bytes a block. */
  readonly blockHashes: Uint8Array;
  /** 8 bytes a block. */
  readonly sequenceHashes: Uint8Array;
}

/** Blocks that were evicted, children before parents. */
export interface RemovedKvEvent {
  readonly kind: "removed";
  /** 8 bytes a block. */
  readonly sequenceHashes: Uint8Array;
}

/** Every block is gone. */
export interface ClearedKvEvent {
  readonly kind: "cleared";
}

/** A change in the set of reusable blocks. Reuse itself changes nothing and has no event. */
export type KvEvent = StoredKvEvent | RemovedKvEvent | ClearedKvEvent;

type RunKind = "none" | "stored" | "removed";

/**
 * Collects changes block by block and gives them out as few events: a run of blocks where each is the child
 * of the one before is one `stored`, evictions in a row are one `removed`.
 */
export class KvEventLog {
  private events: KvEvent[] = [];
  private runKind: RunKind = "none";
  private runParent: Uint8Array | undefined;
  /** Low and high words of the run. */
  private readonly blockWords: number[] = [];
  private readonly sequenceWords: number[] = [];

  /** A root block became reusable. */
  storedRoot(blockLow: number, blockHigh: number, sequenceLow: number, sequenceHigh: number): void {
    this.startRun("stored", undefined);
    this.blockWords.push(blockLow, blockHigh);
    this.sequenceWords.push(sequenceLow, sequenceHigh);
  }

  /** A block became reusable, the child of the block with sequence hash (`parentLow`, `parentHigh`). */
  storedChild(
    parentLow: number,
    parentHigh: number,
    blockLow: number,
    blockHigh: number,
    sequenceLow: number,
    sequenceHigh: number,
  ): void {
    const words = this.sequenceWords;
    const extendsRun =
      this.runKind === "stored" &&
      words[words.length - 2] === parentLow &&
      words[words.length - 1] === parentHigh;
    if (!extendsRun) this.startRun("stored", toBytes([parentLow, parentHigh]));
    this.blockWords.push(blockLow, blockHigh);
    words.push(sequenceLow, sequenceHigh);
  }

  /** A block was evicted. */
  removed(sequenceLow: number, sequenceHigh: number): void {
    if (this.runKind !== "removed") this.startRun("removed", undefined);
    this.sequenceWords.push(sequenceLow, sequenceHigh);
  }

  /** Every block is gone. */
  cleared(): void {
    this.closeRun();
    this.events.push({ kind: "cleared" });
  }

  /** The events since the last `take`, in order. */
  take(): KvEvent[] {
    this.closeRun();
    const events = this.events;
    this.events = [];
    return events;
  }

  private startRun(kind: RunKind, parent: Uint8Array | undefined): void {
    this.closeRun();
    this.runKind = kind;
    this.runParent = parent;
  }

  private closeRun(): void {
    if (this.runKind === "none") return;
    const sequenceHashes = toBytes(this.sequenceWords);
    this.events.push(
      this.runKind === "removed"
        ? { kind: "removed", sequenceHashes }
        : {
            kind: "stored",
            parent: this.runParent,
            blockHashes: toBytes(this.blockWords),
            sequenceHashes,
          },
    );
    this.runKind = "none";
    this.runParent = undefined;
    this.blockWords.length = 0;
    this.sequenceWords.length = 0;
  }
}

function toBytes(words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < words.length; i++) view.setUint32(i * 4, words[i]!, true);
  return bytes;
}
