import type { StorageTier } from "@baton/kv-router";
import { type ModelName, workerId } from "@baton/protocol";
import { testGeneration } from "@baton/testing";
import type { FeedTarget, IndexFeed } from "../../src/pool.ts";

/** Sequence hashes of a prompt whose blocks have these names, 8 bytes each. */
export function promptOf(...blocks: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(blocks.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, block] of blocks.entries()) {
    view.setUint32(8 * index, mixed(block), true);
    view.setUint32(8 * index + 4, mixed(~block), true);
  }
  return bytes;
}

/** As good as random, as hashes are: the finalizer of 32-bit murmur3. */
function mixed(block: number): number {
  let word = Math.imul(block ^ (block >>> 16), 0x85eb_ca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
  return (word ^ (word >>> 16)) >>> 0;
}

/** Feeds that a desk or a pool has opened. The test says what workers hold. */
export class FakeFeeds {
  /** What happened to feeds, in order. */
  readonly log: string[] = [];
  readonly targets: FeedTarget[] = [];

  readonly open = (_model: ModelName, target: FeedTarget): IndexFeed => this.follow(target);

  readonly follow = (target: FeedTarget): IndexFeed => {
    this.targets.push(target);
    this.log.push("opened");
    return {
      workersChanged: () => void this.log.push("workers changed"),
      stop: () => void this.log.push("stopped"),
    };
  };

  /** Opened and not stopped. */
  get running(): number {
    const count = (what: string) => this.log.filter((each) => each === what).length;
    return count("opened") - count("stopped");
  }

  /** A worker's rank holds the blocks of a prompt from its beginning, as the feed opened last has heard. */
  hold(
    id: string,
    prompt: Uint8Array,
    { generation = testGeneration, dpRank = 0, tier = "device" as StorageTier } = {},
  ): void {
    const target = this.targets.at(-1);
    if (target === undefined) throw new Error("no feed was opened");
    const slot = target.slots.open({ workerId: workerId(id), generation, dpRank });
    target.index.store(slot, tier, null, prompt);
  }
}
