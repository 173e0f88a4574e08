import { mixWords } from "./hash-words.ts";

/** The number of a set; 0 is the empty one. */
export type SetId = number;

/** A holder's number and a tier in one: `4 * holder + tier`. */
export type Member = number;

export function memberOf(holder: number, tier: number): Member {
  return (holder << 2) | tier;
}

export function holderOf(member: Member): number {
  return member >>> 2;
}

/** 0 device, 1 host, 2 disk. */
export function tierOf(member: Member): number {
  return member & 3;
}

const noMembers = new Int32Array(0);
/** Bytes of the objects around one set's list of members, roughly. */
const setBytes = 160;
/** Many small maps, since a map that grows moves all that is in it. */
const shards = 256;

/**
 * The sets of holders that blocks have. Equal sets are one set, so that a block needs a number only, and two blocks whose
 * numbers are equal have the same holders. A set lives as long as a block has it.
 */
export class HolderSets {
  /** Members in ascending order. */
  readonly #lists: Int32Array[] = [noMembers];
  readonly #users: number[] = [0];
  readonly #hashes: number[] = [0];
  /** The next set of equal hash; 0 at the end. */
  readonly #nextOfHash: SetId[] = [0];
  readonly #byHash = Array.from({ length: shards }, () => new Map<number, SetId>());
  readonly #free: SetId[] = [];
  #members = 0;
  // The last answers: a run of blocks mostly goes from one set to one other.
  #plusFrom: SetId = -1;
  #plusMember: Member = -1;
  #plusTo: SetId = 0;
  #minusFrom: SetId = -1;
  #minusMember: Member = -1;
  #minusTo: SetId = 0;
  #goneFrom: SetId = -1;
  #goneVersion = -1;
  #goneTo: SetId = 0;
  #asked: SetId = -1;
  #askedMember: Member = -1;
  #answer = false;

  /** Sets that are in use. */
  get size(): number {
    return this.#lists.length - 1 - this.#free.length;
  }

  get bytes(): number {
    return this.size * setBytes + this.#members * 4;
  }

  /** The members, ascending; not to be kept or changed. */
  membersOf(set: SetId): Int32Array {
    return this.#lists[set]!;
  }

  has(set: SetId, member: Member): boolean {
    if (set === 0) return false;
    if (set === this.#asked && member === this.#askedMember) return this.#answer;
    const list = this.#lists[set]!;
    const at = placeOf(list, member);
    this.#asked = set;
    this.#askedMember = member;
    this.#answer = list[at] === member;
    return this.#answer;
  }

  /** The set with a member more, which it does not have. To be followed by `move`. */
  plus(set: SetId, member: Member): SetId {
    if (set === this.#plusFrom && member === this.#plusMember) return this.#plusTo;
    const list = this.#lists[set]!;
    const at = placeOf(list, member);
    const longer = new Int32Array(list.length + 1);
    longer.set(at === list.length ? list : list.subarray(0, at));
    longer[at] = member;
    if (at < list.length) longer.set(list.subarray(at), at + 1);
    this.#plusTo = this.#intern(longer, this.#hashes[set]! ^ hashOf(member));
    this.#plusFrom = set;
    this.#plusMember = member;
    return this.#plusTo;
  }

  /** The set without one of its members. To be followed by `move`. */
  minus(set: SetId, member: Member): SetId {
    if (set === this.#minusFrom && member === this.#minusMember) return this.#minusTo;
    const list = this.#lists[set]!;
    const at = placeOf(list, member);
    const shorter = new Int32Array(list.length - 1);
    shorter.set(list.subarray(0, at));
    shorter.set(list.subarray(at + 1), at);
    this.#minusTo = this.#intern(shorter, this.#hashes[set]! ^ hashOf(member));
    this.#minusFrom = set;
    this.#minusMember = member;
    return this.#minusTo;
  }

  /**
   * The set without all members of holders that are gone. To be followed by `move`. Who is gone is the same for equal
   * `version`s.
   */
  without(set: SetId, isGone: (holder: number) => boolean, version: number): SetId {
    if (set === this.#goneFrom && version === this.#goneVersion) return this.#goneTo;
    const list = this.#lists[set]!;
    let hash = this.#hashes[set]!;
    const kept = list.filter((member) => {
      if (!isGone(holderOf(member))) return true;
      hash ^= hashOf(member);
      return false;
    });
    this.#goneTo = kept.length === list.length ? set : this.#intern(kept, hash);
    this.#goneFrom = set;
    this.#goneVersion = version;
    return this.#goneTo;
  }

  /** Says that a block had one set and has another. */
  move(from: SetId, to: SetId): void {
    this.#users[to]! += 1;
    this.#users[from]! -= 1;
    if (from !== 0 && this.#users[from] === 0) this.#forget(from);
  }

  #intern(list: Int32Array, hash: number): SetId {
    if (list.length === 0) return 0;
    const shard = this.#byHash[hash & (shards - 1)]!;
    const first = shard.get(hash) ?? 0;
    for (let set = first; set !== 0; set = this.#nextOfHash[set]!) {
      if (isSame(this.#lists[set]!, list)) return set;
    }
    const set = this.#free.pop() ?? this.#lists.length;
    this.#lists[set] = list;
    this.#users[set] = 0;
    this.#hashes[set] = hash;
    this.#nextOfHash[set] = first;
    this.#members += list.length;
    shard.set(hash, set);
    return set;
  }

  #forget(set: SetId): void {
    const hash = this.#hashes[set]!;
    const shard = this.#byHash[hash & (shards - 1)]!;
    const next = this.#nextOfHash[set]!;
    let before = shard.get(hash)!;
    if (before === set) {
      if (next === 0) shard.delete(hash);
      else shard.set(hash, next);
    } else {
      while (this.#nextOfHash[before] !== set) before = this.#nextOfHash[before]!;
      this.#nextOfHash[before] = next;
    }
    this.#members -= this.#lists[set]!.length;
    this.#lists[set] = noMembers;
    this.#free.push(set);
    // The number will stand for another set.
    if (set === this.#plusFrom || set === this.#plusTo) this.#plusFrom = -1;
    if (set === this.#minusFrom || set === this.#minusTo) this.#minusFrom = -1;
    if (set === this.#goneFrom || set === this.#goneTo) this.#goneFrom = -1;
    if (set === this.#asked) this.#asked = -1;
  }
}

/** Where a member is in an ascending list, or would be. */
function placeOf(list: Int32Array, member: Member): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]! < member) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isSame(one: Int32Array, other: Int32Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) if (one[at] !== other[at]) return false;
  return true;
}

function hashOf(member: Member): number {
  return mixWords(member, 1);
}
