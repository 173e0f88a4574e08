import type { KvEvent } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockStore } from "../../../src/engines/llama/block-store.ts";
import { KvHoldings } from "../../../src/engines/llama/kv-holdings.ts";
import { SlotTable } from "../../../src/engines/llama/slot-table.ts";
import { chainOfBlocks } from "./chains.ts";

/** A follower: which blocks are held, and that every stored block's parent is. */
class Follower {
  readonly held = new Set<string>();

  apply(events: readonly KvEvent[]): void {
    for (const event of events) {
      if (event.kind === "cleared") {
        this.held.clear();
        continue;
      }
      let parent = event.kind === "stored" ? event.parent : null;
      for (let at = 0; at < event.sequenceHashes.length; at += 8) {
        const hash = event.sequenceHashes.subarray(at, at + 8);
        const name = Buffer.from(hash).toString("hex");
        if (event.kind === "removed") {
          expect(this.held.delete(name), "removed what was held").toBe(true);
          continue;
        }
        expect(this.held.has(name), "stored what was not held").toBe(false);
        if (parent !== null) expect(this.held.has(Buffer.from(parent).toString("hex"))).toBe(true);
        this.held.add(name);
        parent = hash;
      }
    }
  }
}

const chains = [
  chainOfBlocks(10, 20, 30, 40),
  chainOfBlocks(10, 20, 31, 41, 51),
  chainOfBlocks(10, 25),
  chainOfBlocks(60, 70, 80),
];
const actions = fc.array(
  fc.record({
    kind: fc.constantFrom("slot", "put", "clear", "flush"),
    chain: fc.nat(chains.length - 1),
    slot: fc.nat(2),
    count: fc.nat(5),
  }),
  { maxLength: 60 },
);

describe("KvHoldings", () => {
  it("tells a follower just what store and sequences hold, parents always there", () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const holdings = new KvHoldings();
        const store = new BlockStore(4, holdings);
        const { slots } = new SlotTable(3, holdings);
        const follower = new Follower();
        for (const step of steps) {
          const chain = chains[step.chain]!;
          const slot = slots[step.slot]!;
          if (step.kind === "slot") {
            const shared = slot.sharedBlocks(chain, 99);
            slot.assign(chain, 4 * shared);
            slot.setHeld(Math.min(chain.length, 4 * (shared + step.count)));
          } else if (step.kind === "put") {
            for (const block of chain.blocks.slice(0, step.count))
              store.put(block, new Uint8Array());
          } else if (step.kind === "clear") {
            slot.clear();
          } else {
            follower.apply(holdings.takeEvents());
          }
        }
        follower.apply(holdings.takeEvents());
        const expected = new Set<string>();
        const hex = (hash: Uint8Array) => Buffer.from(hash).toString("hex");
        for (const slot of slots) {
          for (const block of slot.chain?.blocks.slice(0, slot.heldBlocks) ?? []) {
            expected.add(hex(block.sequenceHash));
          }
        }
        for (const block of chains.flatMap(({ blocks }) => blocks)) {
          if (store.find(block) !== undefined) expected.add(hex(block.sequenceHash));
        }
        expect(follower.held).toEqual(expected);
        expect(holdings.size).toBe(expected.size);
        const dumped = new Follower();
        dumped.apply(holdings.dump());
        expect(dumped.held).toEqual(expected);
      }),
    );
  });
});
