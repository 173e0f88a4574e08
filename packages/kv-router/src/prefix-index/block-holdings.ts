import type { BlockId, BlockTable } from "./block-table.ts";
import { CountTable } from "./count-table.ts";
import {
  type HolderSets,
  holderOf,
  type Member,
  memberOf,
  type SetId,
  tierOf,
} from "./holder-sets.ts";

/**
 * Who holds which block how often, and which holders have a block on the device without its parent: a find may skip blocks
 * for all others.
 */
export class BlockHoldings {
  readonly #blocks: BlockTable;
  readonly #sets: HolderSets;
  /** (block, member): copies beyond the first. */
  readonly #copies = new CountTable();
  /** (block, holder): children on the holder's device, for blocks that are branched. */
  readonly #deviceChildren = new CountTable();
  /** By holder: its blocks on the device whose parent is not on its device. */
  readonly #broken: number[] = [];
  /** By member: its blocks. */
  readonly #count: number[] = [];
  #brokenHolders = 0;
  #held = 0;
  #lower = 0;

  constructor(blocks: BlockTable, sets: HolderSets) {
    this.#blocks = blocks;
    this.#sets = sets;
  }

  /** Blocks that somebody holds. */
  get held(): number {
    return this.#held;
  }

  /** Holdings that are not on a device. */
  get lower(): number {
    return this.#lower;
  }

  /** Holders that have blocks on the device without their parents. */
  get brokenHolders(): number {
    return this.#brokenHolders;
  }

  get bytes(): number {
    return this.#copies.bytes + this.#deviceChildren.bytes;
  }

  /** Blocks of a holder over all tiers, each tier for itself. */
  blocksOf(holder: number): number {
    let sum = 0;
    for (let tier = 0; tier < 3; tier += 1) sum += this.#count[memberOf(holder, tier)] ?? 0;
    return sum;
  }

  /** Whether a holder has blocks on the device without their parents. */
  isBroken(holder: number): boolean {
    return this.#broken[holder]! > 0;
  }

  /** Begins to count for a holder that has nothing. */
  open(holder: number): void {
    this.#broken[holder] = 0;
    for (let tier = 0; tier < 3; tier += 1) this.#count[memberOf(holder, tier)] = 0;
  }

  /** Whether a holder has the block on any tier. */
  hasAny(id: BlockId, holder: number): boolean {
    const set = this.#blocks.setOf(id);
    for (let tier = 0; tier < 3; tier += 1) {
      if (this.#sets.has(set, memberOf(holder, tier))) return true;
    }
    return false;
  }

  /** Adds a block that is not there, as a child of `parent` (0: of none), and gives it to a member. */
  add(low: number, high: number, parent: BlockId, member: Member): BlockId {
    if (parent !== 0) this.#expectChild(parent);
    const id = this.#blocks.add(low, high, parent);
    const set = this.#sets.plus(0, member);
    this.#sets.move(0, set);
    this.#blocks.putSet(id, set);
    this.#count[member]! += 1;
    this.#held += 1;
    if (tierOf(member) !== 0) this.#lower += 1;
    else if (parent !== 0) this.#countParent(parent, member, 1);
    return id;
  }

  /** Makes a block that has no parent the child of another. */
  adopt(id: BlockId, parent: BlockId): void {
    this.#expectChild(parent);
    this.#blocks.link(id, parent);
    for (const member of this.#sets.membersOf(this.#blocks.setOf(id))) {
      if (tierOf(member) === 0) this.#countParent(parent, member, 1);
    }
  }

  /** With a second child, the children on each holder's device are counted one by one. */
  #expectChild(parent: BlockId): void {
    const blocks = this.#blocks;
    if (blocks.childCountOf(parent) !== 1 || blocks.isBranched(parent)) return;
    blocks.markBranched(parent);
    const child = blocks.onlyChildOf(parent);
    for (const member of this.#sets.membersOf(blocks.setOf(child))) {
      if (tierOf(member) === 0) this.#deviceChildren.add(parent, holderOf(member), 1);
    }
  }

  /** Gives a member one more copy of a block. */
  give(id: BlockId, member: Member): void {
    const blocks = this.#blocks;
    const set = blocks.setOf(id);
    if (this.#sets.has(set, member)) {
      blocks.markCopies(id);
      this.#copies.add(id, member, 1);
      return;
    }
    if (set === 0) this.#held += 1;
    const next = this.#sets.plus(set, member);
    this.#sets.move(set, next);
    blocks.putSet(id, next);
    this.#count[member]! += 1;
    if (tierOf(member) === 0) this.#countLinks(id, member, 1);
    else this.#lower += 1;
  }

  /** Takes one copy of a block from a member. False if it has none. The block may be gone afterwards. */
  take(id: BlockId, member: Member): boolean {
    const blocks = this.#blocks;
    const set = blocks.setOf(id);
    if (!this.#sets.has(set, member)) return false;
    if (blocks.mayHaveCopies(id) && this.#copies.get(id, member) > 0) {
      this.#copies.add(id, member, -1);
      return true;
    }
    const next = this.#sets.minus(set, member);
    this.#sets.move(set, next);
    blocks.putSet(id, next);
    this.#count[member]! -= 1;
    if (tierOf(member) === 0) this.#countLinks(id, member, -1);
    else this.#lower -= 1;
    if (next === 0) this.#abandon(id);
    return true;
  }

  /** Takes all copies of a block from holders that are gone. The block may be gone afterwards. */
  strip(id: BlockId, isGone: (holder: number) => boolean, version: number): void {
    const set = this.#blocks.setOf(id);
    if (set === 0) return;
    const next = this.#sets.without(set, isGone, version);
    if (next === set) return;
    for (const member of this.#sets.membersOf(set)) {
      if (isGone(holderOf(member))) this.#forget(id, member);
    }
    this.#putSet(id, set, next);
  }

  /** Takes all copies of a block from everybody. The block is gone afterwards if it has no children. */
  drop(id: BlockId): void {
    const set = this.#blocks.setOf(id);
    if (set === 0) return;
    for (const member of this.#sets.membersOf(set)) this.#forget(id, member);
    this.#putSet(id, set, 0);
  }

  #putSet(id: BlockId, set: SetId, next: SetId): void {
    this.#sets.move(set, next);
    this.#blocks.putSet(id, next);
    if (next === 0) this.#abandon(id);
  }

  /** The counts of a member that loses all copies of a block. */
  #forget(id: BlockId, member: Member): void {
    const blocks = this.#blocks;
    if (blocks.mayHaveCopies(id)) {
      this.#copies.add(id, member, -this.#copies.get(id, member));
    }
    this.#count[member]! -= 1;
    if (tierOf(member) === 0) this.#countLinks(id, member, -1);
    else this.#lower -= 1;
  }

  /** A block on a holder's device comes (1) or goes (-1): counts anew what its parent and its children are to it. */
  #countLinks(id: BlockId, member: Member, change: number): void {
    const blocks = this.#blocks;
    const parent = blocks.parentOf(id);
    if (parent !== 0) this.#countParent(parent, member, change);
    if (blocks.childCountOf(id) > 0) {
      this.#countBroken(holderOf(member), -change * this.#childrenOnDevice(id, member));
    }
  }

  #countParent(parent: BlockId, member: Member, change: number): void {
    const blocks = this.#blocks;
    const holder = holderOf(member);
    if (!this.#sets.has(blocks.setOf(parent), member)) this.#countBroken(holder, change);
    if (blocks.isBranched(parent)) this.#deviceChildren.add(parent, holder, change);
  }

  #countBroken(holder: number, change: number): void {
    const before = this.#broken[holder]!;
    const after = before + change;
    this.#broken[holder] = after;
    if (before === 0 && after > 0) this.#brokenHolders += 1;
    else if (before > 0 && after === 0) this.#brokenHolders -= 1;
  }

  #childrenOnDevice(id: BlockId, member: Member): number {
    const blocks = this.#blocks;
    if (blocks.isBranched(id)) return this.#deviceChildren.get(id, holderOf(member));
    return this.#sets.has(blocks.setOf(blocks.onlyChildOf(id)), member) ? 1 : 0;
  }

  /** Nobody holds the block any more. It stays while it has children, and then goes with the last of them. */
  #abandon(id: BlockId): void {
    this.#held -= 1;
    const blocks = this.#blocks;
    let bare = id;
    while (bare !== 0 && blocks.setOf(bare) === 0 && blocks.childCountOf(bare) === 0) {
      bare = blocks.delete(bare);
    }
  }
}
