import { extendOverlap, resetOverlaps } from "./overlap-arrays.ts";
import {
  type IndexJob,
  type Overlaps,
  type PrefixIndex,
  type RankLoad,
  type RankSlot,
  type StorageTier,
  type Stored,
  storageTiers,
} from "./prefix-index.ts";

/** How often a holder has a block, by tier. */
type Copies = [device: number, host: number, disk: number];

/** A block that somebody holds, or that has children that somebody holds. */
interface TreeNode {
  readonly hash: bigint;
  readonly parent: TreeNode | null;
  readonly children: Map<bigint, TreeNode>;
  readonly holders: Map<Holder, Copies>;
}

/** What one rank holds, or held, or is being told to hold. */
interface Holder {
  /** The slot that the holder answers for; null while it answers for none. */
  slot: RankSlot | null;
  readonly nodes: Set<TreeNode>;
}

/** Bytes that V8 takes for a node with its maps, and for one holder's part in it; roughly. */
const nodeBytes = 300;
const copiesBytes = 120;

const finished: IndexJob = { step: () => true };

/** The index as a tree of `Map`s: plain, right in all cases, and what the fast one is compared with. Unbounded. */
export function createRadixTree(): PrefixIndex {
  return new RadixTree();
}

class RadixTree implements PrefixIndex {
  readonly #root: TreeNode = newNode(0n, null);
  /** Every node but the root. */
  readonly #nodes = new Map<bigint, TreeNode>();
  readonly #holders = new Map<RankSlot, Holder>();
  readonly #loads = new Map<RankSlot, Holder>();
  /** Of loads that another one took the place of: the next job takes them along. */
  #superseded: Holder[] = [];
  #held = 0;
  #holdings = 0;
  #slots = 0;

  get blocks(): number {
    return this.#held;
  }

  get bytes(): number {
    return this.#nodes.size * nodeBytes + this.#holdings * copiesBytes;
  }

  store(
    rank: RankSlot,
    tier: StorageTier,
    parent: Uint8Array | null,
    sequenceHashes: Uint8Array,
  ): Stored {
    return this.#store(this.#holderOf(rank), tier, parent, sequenceHashes);
  }

  remove(rank: RankSlot, tier: StorageTier, sequenceHashes: Uint8Array): number {
    const holder = this.#holderOf(rank);
    const hashes = viewOf(sequenceHashes);
    const tierAt = storageTiers.indexOf(tier);
    let absent = 0;
    for (let at = 0; at < hashes.byteLength; at += 8) {
      const node = this.#nodes.get(hashes.getBigUint64(at, true));
      const copies = node?.holders.get(holder);
      if (node === undefined || copies === undefined || copies[tierAt] === 0) {
        absent += 1;
        continue;
      }
      copies[tierAt]! -= 1;
      if (copies.every((count) => count === 0)) this.#forget(holder, node);
    }
    return absent;
  }

  clearRank(rank: RankSlot): IndexJob {
    const load = this.#loads.get(rank);
    this.#loads.delete(rank);
    const holder = this.#holders.get(rank);
    this.#holders.delete(rank);
    return this.#release([load, holder]);
  }

  removeRank(rank: RankSlot): IndexJob {
    return this.clearRank(rank);
  }

  loadRank(rank: RankSlot): RankLoad {
    const superseded = this.#loads.get(rank);
    if (superseded !== undefined) this.#superseded.push(superseded);
    const staged: Holder = { slot: null, nodes: new Set() };
    this.#loads.set(rank, staged);
    this.#slots = Math.max(this.#slots, rank + 1);
    const end = (): boolean => this.#loads.get(rank) === staged && this.#loads.delete(rank);
    return {
      store: (tier, parent, sequenceHashes) =>
        this.#loads.get(rank) === staged
          ? this.#store(staged, tier, parent, sequenceHashes)
          : "dropped",
      commit: () => {
        if (!end()) return finished;
        const old = this.#holders.get(rank);
        staged.slot = rank;
        this.#holders.set(rank, staged);
        return this.#release([old]);
      },
      abandon: () => (end() ? this.#release([staged]) : finished),
    };
  }

  find(sequenceHashes: Uint8Array, overlaps: Overlaps): void {
    resetOverlaps(overlaps, this.#slots);
    const hashes = viewOf(sequenceHashes);
    let node: TreeNode | undefined = this.#root;
    for (let at = 0; at < hashes.byteLength; at += 8) {
      const hash = hashes.getBigUint64(at, true);
      // A block may have been told of without the blocks before it.
      node = node.children.get(hash) ?? this.#nodes.get(hash);
      if (node === undefined || !creditHolders(node, at / 8, overlaps)) return;
    }
  }

  blocksOf(rank: RankSlot, tier: StorageTier): Uint8Array {
    const holder = this.#holders.get(rank);
    const at = storageTiers.indexOf(tier);
    const nodes = [...(holder?.nodes ?? [])].filter(
      (node) => holder !== undefined && (node.holders.get(holder)?.[at] ?? 0) > 0,
    );
    return new Uint8Array(BigUint64Array.from(nodes, (node) => node.hash).buffer);
  }

  #holderOf(rank: RankSlot): Holder {
    const known = this.#holders.get(rank);
    if (known !== undefined) return known;
    const holder: Holder = { slot: rank, nodes: new Set() };
    this.#holders.set(rank, holder);
    this.#slots = Math.max(this.#slots, rank + 1);
    return holder;
  }

  #store(
    holder: Holder,
    tier: StorageTier,
    parent: Uint8Array | null,
    sequenceHashes: Uint8Array,
  ): Stored {
    let last = this.#root;
    if (parent !== null) {
      const known = this.#nodes.get(viewOf(parent).getBigUint64(0, true));
      if (known === undefined || !known.holders.has(holder)) return "orphan";
      last = known;
    }
    const hashes = viewOf(sequenceHashes);
    const tierAt = storageTiers.indexOf(tier);
    for (let at = 0; at < hashes.byteLength; at += 8) {
      const hash = hashes.getBigUint64(at, true);
      const node = this.#nodes.get(hash) ?? this.#addNode(hash, last);
      this.#hold(holder, node, tierAt);
      last = node;
    }
    return "stored";
  }

  #addNode(hash: bigint, parent: TreeNode): TreeNode {
    const node = newNode(hash, parent);
    parent.children.set(hash, node);
    this.#nodes.set(hash, node);
    return node;
  }

  #hold(holder: Holder, node: TreeNode, tier: number): void {
    let copies = node.holders.get(holder);
    if (copies === undefined) {
      if (node.holders.size === 0) this.#held += 1;
      copies = [0, 0, 0];
      node.holders.set(holder, copies);
      holder.nodes.add(node);
      this.#holdings += 1;
    }
    copies[tier]! += 1;
  }

  #forget(holder: Holder, node: TreeNode): void {
    node.holders.delete(holder);
    holder.nodes.delete(node);
    this.#holdings -= 1;
    if (node.holders.size === 0) this.#held -= 1;
    let empty: TreeNode | null = node;
    while (empty?.parent && empty.holders.size === 0 && empty.children.size === 0) {
      empty.parent.children.delete(empty.hash);
      this.#nodes.delete(empty.hash);
      empty = empty.parent;
    }
  }

  /** From now on the holders answer for nobody; the job takes them out of the nodes. */
  #release(holders: readonly (Holder | undefined)[]): IndexJob {
    const released = [...this.#superseded, ...holders].filter((holder) => holder !== undefined);
    this.#superseded = [];
    for (const holder of released) holder.slot = null;
    return {
      step: (maxBlocks) => {
        let left = maxBlocks;
        for (const holder of released) {
          for (const node of holder.nodes) {
            if (left === 0) return false;
            this.#forget(holder, node);
            left -= 1;
          }
        }
        return true;
      },
    };
  }
}

/** Credits those whose prefix goes on with the block at `position`. Returns whether there are any. */
function creditHolders(node: TreeNode, position: number, overlaps: Overlaps): boolean {
  let any = false;
  for (const [{ slot }, copies] of node.holders) {
    if (slot === null) continue;
    for (let tier = 0; tier < copies.length; tier += 1) {
      if (copies[tier] === 0) continue;
      if (extendOverlap(overlaps, slot, tier, position, position + 1)) any = true;
    }
  }
  return any;
}

function newNode(hash: bigint, parent: TreeNode | null): TreeNode {
  return { hash, parent, children: new Map(), holders: new Map() };
}

/** The bytes of whole hashes. */
function viewOf(sequenceHashes: Uint8Array): DataView {
  const { buffer, byteOffset, byteLength } = sequenceHashes;
  return new DataView(buffer, byteOffset, byteLength - (byteLength % 8));
}
