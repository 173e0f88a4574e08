import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockHoldings } from "../../src/prefix-index/block-holdings.ts";
import { BlockTable } from "../../src/prefix-index/block-table.ts";
import { HolderSets, memberOf } from "../../src/prefix-index/holder-sets.ts";

const holders = 3;
const lastBlock = 20;
const parentOf = (block: number) => Math.floor(block / 3);

/** Holdings of blocks that are known by name, beside plain sets of "holder tier block". */
class Rig {
  readonly blocks = new BlockTable();
  readonly holdings = new BlockHoldings(this.blocks, new HolderSets());
  readonly model = new Map<string, number>();

  constructor() {
    for (let holder = 0; holder < holders; holder += 1) this.holdings.open(holder);
  }

  give(holder: number, tier: number, block: number): void {
    const parent = this.blocks.find(parentOf(block), 0, 0);
    // A block is told of with its parent, or before anybody knows the parent.
    const id = this.blocks.find(block, 0, 0);
    if (id === 0) this.holdings.add(block, 0, parent, memberOf(holder, tier));
    else {
      if (parent !== 0 && this.blocks.parentOf(id) === 0) this.holdings.adopt(id, parent);
      this.holdings.give(id, memberOf(holder, tier));
    }
    const name = `${holder} ${tier} ${block}`;
    this.model.set(name, (this.model.get(name) ?? 0) + 1);
  }

  take(holder: number, tier: number, block: number): void {
    const name = `${holder} ${tier} ${block}`;
    const count = this.model.get(name) ?? 0;
    const id = this.blocks.find(block, 0, 0);
    expect(id !== 0 && this.holdings.take(id, memberOf(holder, tier))).toBe(count > 0);
    if (count > 1) this.model.set(name, count - 1);
    else this.model.delete(name);
  }

  strip(holder: number, version: number): void {
    for (let id = 1; id <= this.blocks.highest; id += 1) {
      if (!this.blocks.isFree(id)) this.holdings.strip(id, (one) => one === holder, version);
    }
    for (const name of this.model.keys()) {
      if (name.startsWith(`${holder} `)) this.model.delete(name);
    }
    expect(this.holdings.blocksOf(holder)).toBe(0);
    this.holdings.open(holder);
  }

  drop(block: number): void {
    const id = this.blocks.find(block, 0, 0);
    if (id !== 0) this.holdings.drop(id);
    for (const name of this.model.keys()) {
      if (name.endsWith(` ${block}`)) this.model.delete(name);
    }
  }

  /** Whether a holder has a block on the device and not the parent that it was told of with. */
  isBroken(holder: number): boolean {
    for (let block = 1; block <= lastBlock; block += 1) {
      const id = this.blocks.find(block, 0, 0);
      if (id === 0 || !this.model.has(`${holder} 0 ${block}`)) continue;
      const parent = this.blocks.parentOf(id);
      if (parent !== 0 && !this.model.has(`${holder} 0 ${this.blocks.lowOf(parent)}`)) return true;
    }
    return false;
  }

  check(): void {
    const names = [...this.model.keys()];
    const broken = Array.from({ length: holders }, (_, holder) => this.isBroken(holder));
    expect(this.holdings.brokenHolders).toBe(broken.filter((is) => is).length);
    for (let holder = 0; holder < holders; holder += 1) {
      expect(this.holdings.isBroken(holder)).toBe(this.isBroken(holder));
      const own = names.filter((name) => name.startsWith(`${holder} `));
      expect(this.holdings.blocksOf(holder)).toBe(own.length);
    }
    expect(this.holdings.held).toBe(new Set(names.map((name) => name.split(" ")[2])).size);
    expect(this.holdings.lower).toBe(names.filter((name) => name.split(" ")[1] !== "0").length);
  }
}

describe("who holds which block", () => {
  const step = fc.record({
    kind: fc.constantFrom("give", "give", "give", "take", "take", "strip", "drop"),
    holder: fc.nat({ max: holders - 1 }),
    tier: fc.constantFrom(0, 0, 0, 1, 2),
    block: fc.integer({ min: 1, max: lastBlock }),
  });

  it("is known with every gap in what a holder has on its device", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
        const rig = new Rig();
        for (const [version, { kind, holder, tier, block }] of steps.entries()) {
          if (kind === "give") rig.give(holder, tier, block);
          else if (kind === "take") rig.take(holder, tier, block);
          else if (kind === "strip") rig.strip(holder, version);
          else rig.drop(block);
          rig.check();
        }
      }),
    );
  });

  it("leaves nothing behind when all is taken, whatever the order", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.array(fc.nat({ max: 999 })),
        (steps, order) => {
          const rig = new Rig();
          for (const { holder, tier, block } of steps) rig.give(holder, tier, block);
          const names = [...rig.model].flatMap(([name, count]) =>
            new Array<string>(count).fill(name),
          );
          for (const at of [...order, ...names.keys()]) {
            const [name] = names.splice(at % Math.max(1, names.length), 1);
            if (name === undefined) continue;
            const [holder, tier, block] = name.split(" ").map(Number);
            rig.take(holder!, tier!, block!);
            rig.check();
          }
          for (const name of names) {
            const [holder, tier, block] = name.split(" ").map(Number);
            rig.take(holder!, tier!, block!);
          }
          expect(rig.blocks.size).toBe(0);
          expect(rig.holdings.held).toBe(0);
        },
      ),
    );
  });
});
