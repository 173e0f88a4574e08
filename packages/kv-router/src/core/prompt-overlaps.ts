// Hot path: `look` runs once a choice, `write` once for each candidate.
import type { PredictedIndex } from "../prefix-index/predicted-index.ts";
import { createOverlaps, type PrefixIndex, type RankSlot } from "../prefix-index/prefix-index.ts";

/** Where the overlap of a candidate is written. */
interface OverlapFields {
  overlapBlocks: number;
  hostOverlapBlocks: number;
  diskOverlapBlocks: number;
}

/** What ranks hold of one prompt: by their own word, and by prediction. */
export class PromptOverlaps {
  readonly #index: PrefixIndex | null;
  readonly #predicted: PredictedIndex | null;
  readonly #held = createOverlaps();
  readonly #expected = createOverlaps();

  constructor(index: PrefixIndex | null, predicted: PredictedIndex | null) {
    this.#index = index;
    this.#predicted = predicted;
  }

  look(sequenceHashes: Uint8Array, nowMs: number): void {
    this.#index?.find(sequenceHashes, this.#held);
    this.#predicted?.find(sequenceHashes, this.#expected, nowMs);
  }

  /** As if nobody held anything. */
  lookAway(): void {
    this.#held.length = 0;
    this.#expected.length = 0;
  }

  /** Writes the longer of what the rank holds on its device and what is expected, and what goes on from there. */
  write(fields: OverlapFields, indexSlot: number, loadSlot: RankSlot): void {
    const held = this.#held;
    const isHeld = indexSlot >= 0 && indexSlot < held.length;
    const device = isHeld ? held.device[indexSlot]! : 0;
    const host = isHeld ? held.host[indexSlot]! : 0;
    const disk = isHeld ? held.disk[indexSlot]! : 0;
    const expected = loadSlot < this.#expected.length ? this.#expected.device[loadSlot]! : 0;
    if (expected <= device) {
      fields.overlapBlocks = device;
      fields.hostOverlapBlocks = host;
      fields.diskOverlapBlocks = disk;
      return;
    }
    const hostEnd = Math.max(expected, device + host);
    fields.overlapBlocks = expected;
    fields.hostOverlapBlocks = hostEnd - expected;
    fields.diskOverlapBlocks = Math.max(0, device + host + disk - hostEnd);
  }
}
