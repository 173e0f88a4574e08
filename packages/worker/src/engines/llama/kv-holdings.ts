/** What store and live sequences hold between them, counted, and the KV events that follow from it. */

import type { KvEvent } from "@baton/protocol";
import type { ChainBlock } from "./block-chain.ts";

/**
 * A block is held while anybody holds it. Whoever holds a block holds all before it, adds parents first and
 * drops children first; so a parent is never gone while a child is there.
 */
export class KvHoldings {
  readonly #held = new Map<bigint, { readonly block: ChainBlock; holders: number }>();
  /** Changes since the last `takeEvents`; what came and went in between is in neither. */
  readonly #stored = new Map<bigint, ChainBlock>();
  readonly #removed = new Map<bigint, ChainBlock>();

  /** Blocks held, each counted once. */
  get size(): number {
    return this.#held.size;
  }

  add(block: ChainBlock): void {
    const entry = this.#held.get(block.key);
    if (entry !== undefined) {
      entry.holders += 1;
      return;
    }
    this.#held.set(block.key, { block, holders: 1 });
    if (!this.#removed.delete(block.key)) this.#stored.set(block.key, block);
  }

  drop(block: ChainBlock): void {
    const entry = this.#held.get(block.key);
    if (entry === undefined) return;
    entry.holders -= 1;
    if (entry.holders > 0) return;
    this.#held.delete(block.key);
    if (!this.#stored.delete(block.key)) this.#removed.set(block.key, block);
  }

  /** The events since the last call: removals first, then runs of stored blocks, parents first. */
  takeEvents(): readonly KvEvent[] {
    const events: KvEvent[] = [];
    if (this.#removed.size > 0) {
      const sequenceHashes = joinHashes(this.#removed.values(), (block) => block.sequenceHash);
      events.push({ kind: "removed", sequenceHashes });
    }
    events.push(...storedEvents(this.#stored.values()));
    this.#removed.clear();
    this.#stored.clear();
    return events;
  }

  /** Everything that is held, as stored events, parents first. */
  dump(): readonly KvEvent[] {
    return storedEvents(Array.from(this.#held.values(), (entry) => entry.block));
  }
}

function storedEvents(blocks: Iterable<ChainBlock>): KvEvent[] {
  const runs: ChainBlock[][] = [];
  for (const block of blocks) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)?.key === block.parentKey) run.push(block);
    else runs.push([block]);
  }
  return runs.map((run) => ({
    kind: "stored",
    parent: run[0]?.parentHash ?? null,
    blockHashes: joinHashes(run, (block) => block.blockHash),
    sequenceHashes: joinHashes(run, (block) => block.sequenceHash),
  }));
}

function joinHashes(
  blocks: Iterable<ChainBlock>,
  hashOf: (block: ChainBlock) => Uint8Array,
): Uint8Array {
  const hashes = Array.from(blocks, hashOf);
  const joined = new Uint8Array(hashes.reduce((sum, hash) => sum + hash.length, 0));
  let at = 0;
  for (const hash of hashes) {
    joined.set(hash, at);
    at += hash.length;
  }
  return joined;
}
