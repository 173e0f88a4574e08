/** Moves KV between the child's sequences and the store, through state files. */

import type { BlockChain } from "./block-chain.ts";
import type { BlockStore, StoredBlock } from "./block-store.ts";
import type { ChildClient } from "./child-client.ts";
import { bytesPerToken, type KvPiece } from "./kv-pieces.ts";
import type { Slot, SlotTable } from "./slot-table.ts";
import type { StateDir } from "./state-dir.ts";
import { cutStateFile, writeStateFile } from "./state-file.ts";
import { StateImage } from "./state-image.ts";
import type { StateShape } from "./state-layout.ts";

/** A prompt's KV outside of the child: all full blocks, pinned, and what is after them. */
export interface PromptKv {
  readonly blocks: readonly StoredBlock[];
  readonly tail: Uint8Array | undefined;
}

export interface KvCacheParts {
  readonly client: Pick<ChildClient, "save" | "restore">;
  readonly store: BlockStore;
  readonly slots: SlotTable;
  readonly dir: StateDir;
  readonly shape: StateShape;
  readonly streamCount: number;
}

export class KvCache {
  readonly bytesPerToken: number;
  readonly #parts: KvCacheParts;

  constructor(parts: KvCacheParts) {
    this.#parts = parts;
    this.bytesPerToken = bytesPerToken(parts.shape);
  }

  /** The idle sequence that suits a prompt: the one that holds most of it, unless the store holds more. */
  pickFor(chain: BlockChain): Slot | undefined {
    const { slots, store } = this.#parts;
    const limit = reusableBlocks(chain);
    const shared = slots.findShared(chain, limit);
    if (shared === undefined) return slots.findOldest();
    return store.findPrefix(chain, limit).length > shared.blocks ? slots.findOldest() : shared.slot;
  }

  /**
   * Gives the sequence the longest prefix of the prompt that is known here, or none of it if all is to be computed. Returns its
   * tokens.
   */
  async loadPrefix(slot: Slot, chain: BlockChain, computesAll = false): Promise<number> {
    const { store } = this.#parts;
    const limit = computesAll ? 0 : reusableBlocks(chain);
    const live = slot.sharedBlocks(chain, limit);
    const stored = store.findPrefix(chain, limit);
    if (stored.length <= live) {
      await this.#spill(slot, live);
      slot.assign(chain, live * chain.blockSize);
      return live * chain.blockSize;
    }
    store.pin(stored);
    try {
      await this.#spill(slot, 0);
      await this.restore(slot, chain, stored.length * chain.blockSize, {
        blocks: stored,
        tail: undefined,
      });
    } finally {
      store.unpin(stored);
    }
    return stored.length * chain.blockSize;
  }

  /** Replaces what the sequence holds by the first `tokens` of the chain. */
  async restore(slot: Slot, chain: BlockChain, tokens: number, kv: PromptKv): Promise<void> {
    const { client, dir, shape, streamCount } = this.#parts;
    const { blockSize } = chain;
    const pieces: KvPiece[] = kv.blocks.map(({ bytes }, index) => {
      return { firstToken: index * blockSize, tokenCount: blockSize, bytes };
    });
    const firstToken = kv.blocks.length * blockSize;
    if (kv.tail !== undefined) {
      pieces.push({ firstToken, tokenCount: tokens - firstToken, bytes: kv.tail });
    }
    const image = new StateImage(shape, blockSize, chain.tokens(tokens), pieces, streamCount);
    const path = dir.newFile();
    slot.clear();
    try {
      await writeStateFile(path, image);
      await client.restore(slot.index, path, tokens);
    } finally {
      await dir.discard(path);
    }
    slot.assign(chain, tokens);
  }

  /** Cuts a saved prompt into blocks, which go to the store and are pinned, and a tail. */
  async stage(path: string, chain: BlockChain, promptTokens: number): Promise<PromptKv> {
    const { store } = this.#parts;
    const full = Math.floor(promptTokens / chain.blockSize);
    const blocks = [...store.findPrefix(chain, full)];
    store.pin(blocks);
    try {
      const { layout, pieces } = await cutStateFile(
        path,
        chain.blockSize,
        blocks.length * chain.blockSize,
      );
      if (layout.tokens.length !== promptTokens) {
        throw new Error(`the saved state holds ${layout.tokens.length} of ${promptTokens} tokens`);
      }
      let tail: Uint8Array | undefined;
      for (const piece of pieces) {
        const block = chain.blocks[blocks.length];
        if (piece.tokenCount < chain.blockSize || block === undefined) {
          tail = piece.bytes;
          break;
        }
        const stored = store.put(block, piece.bytes);
        store.pin([stored]);
        blocks.push(stored);
      }
      return { blocks, tail };
    } catch (error) {
      store.unpin(blocks);
      throw error;
    }
  }

  /**
   * Puts into the store what idle sequences hold of a prompt beyond it: an import can use blocks from the store
   * only. `own` is the caller's sequence, which counts as idle.
   */
  async spillFor(chain: BlockChain, own: Slot): Promise<void> {
    const { slots, store } = this.#parts;
    const limit = chain.blocks.length;
    const stored = store.findPrefix(chain, limit).length;
    if (own.sharedBlocks(chain, limit) > stored) return this.#spill(own, 0);
    const shared = slots.findShared(chain, limit);
    if (shared === undefined || shared.blocks <= stored) return;
    slots.take(shared.slot);
    try {
      await this.#spill(shared.slot, 0);
    } finally {
      shared.slot.busy = false;
    }
  }

  /** Saves blocks that only this sequence holds and is about to lose: all beyond the first `kept`. */
  async #spill(slot: Slot, kept: number): Promise<void> {
    const { client, store, dir } = this.#parts;
    const { chain, heldBlocks } = slot;
    if (chain === undefined || heldBlocks <= kept) return;
    const stored = store.findPrefix(chain, heldBlocks).length;
    if (stored >= heldBlocks) return;
    const path = dir.newFile();
    try {
      await client.save(slot.index, path);
      const { pieces } = await cutStateFile(path, chain.blockSize, stored * chain.blockSize);
      for (const [index, block] of chain.blocks.slice(stored, heldBlocks).entries()) {
        const piece = pieces[index];
        if (piece !== undefined) store.put(block, piece.bytes);
      }
    } catch (error) {
      // The child has emptied a sequence that could not be saved.
      slot.clear();
      throw error;
    } finally {
      await dir.discard(path);
    }
  }
}

/** Full blocks of a prompt that may be reused: at least one token is computed, for its next one. */
function reusableBlocks(chain: BlockChain): number {
  return Math.floor((chain.length - 1) / chain.blockSize);
}
