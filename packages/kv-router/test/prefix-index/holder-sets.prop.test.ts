import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  HolderSets,
  holderOf,
  memberOf,
  type SetId,
  tierOf,
} from "../../src/prefix-index/holder-sets.ts";

describe("a member", () => {
  it("is a holder and a tier", () => {
    const member = memberOf(1_234, 2);

    expect([holderOf(member), tierOf(member)]).toEqual([1_234, 2]);
  });
});

/** Blocks with their sets, beside plain ones. */
class Blocks {
  readonly sets = new HolderSets();
  readonly ids: SetId[] = [0, 0, 0, 0, 0, 0];
  readonly models = this.ids.map(() => new Set<number>());

  change(block: number, member: number): void {
    const from = this.ids[block]!;
    const model = this.models[block]!;
    expect(this.sets.has(from, member)).toBe(model.has(member));
    const to = model.has(member) ? this.sets.minus(from, member) : this.sets.plus(from, member);
    if (!model.delete(member)) model.add(member);
    this.sets.move(from, to);
    this.ids[block] = to;
  }

  strip(block: number, holder: number, version: number): void {
    const from = this.ids[block]!;
    const to = this.sets.without(from, (one) => one === holder, version);
    this.sets.move(from, to);
    this.ids[block] = to;
    for (const member of this.models[block]!) {
      if (holderOf(member) === holder) this.models[block]!.delete(member);
    }
  }

  check(): void {
    const names = this.models.map((model) => [...model].sort((one, other) => one - other));
    for (const [block, id] of this.ids.entries()) {
      expect([...this.sets.membersOf(id)]).toEqual(names[block]);
    }
    const distinct = new Set(names.map((name) => name.join(" ")).filter((name) => name !== ""));
    expect(new Set(this.ids.filter((id) => id !== 0)).size).toBe(distinct.size);
    expect(this.sets.size).toBe(distinct.size);
  }
}

describe("sets of holders", () => {
  it("are what plain sets are, equal ones are one, and unused ones are gone", () => {
    const step = fc.record({
      block: fc.nat({ max: 5 }),
      member: fc.nat({ max: 11 }),
      strip: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const blocks = new Blocks();
        for (const [version, { block, member, strip }] of steps.entries()) {
          if (strip) blocks.strip(block, holderOf(member), version);
          else blocks.change(block, member);
          blocks.check();
        }
      }),
    );
  });

  it("strips many blocks of one set alike", () => {
    const sets = new HolderSets();
    const both = sets.plus(sets.plus(0, memberOf(1, 0)), memberOf(2, 0));
    sets.move(0, both);
    sets.move(0, both);
    const isGone = (holder: number) => holder === 2;

    const first = sets.without(both, isGone, 1);
    sets.move(both, first);
    expect(sets.without(both, isGone, 1)).toBe(first);
    sets.move(both, first);

    expect([...sets.membersOf(first)]).toEqual([memberOf(1, 0)]);
    expect(sets.without(first, (holder) => holder === 1, 2)).toBe(0);
  });

  it("take memory for their members", () => {
    const sets = new HolderSets();
    let set = 0;
    for (let holder = 0; holder < 100; holder += 1) {
      const next = sets.plus(set, memberOf(holder, 0));
      sets.move(set, next);
      set = next;
    }

    expect(sets.size).toBe(1);
    expect(sets.bytes).toBeGreaterThanOrEqual(400);
  });
});
