import { describe, expect, it } from "vitest";
import { KvHoldings } from "../../../src/engines/llama/kv-holdings.ts";
import { SlotTable } from "../../../src/engines/llama/slot-table.ts";
import { chainOfBlocks } from "./chains.ts";

describe("SlotTable", () => {
  it("finds the idle sequence that holds most of a prompt", () => {
    const { slots, table } = tableOf(3);
    slots[0]!.assign(chainOfBlocks(10, 20, 30), 12);
    slots[1]!.assign(chainOfBlocks(10, 21), 8);
    const prompt = chainOfBlocks(10, 20, 40);
    expect(table.findShared(prompt, 9)).toEqual({ slot: slots[0], blocks: 2 });
    expect(table.findShared(prompt, 1)).toEqual({ slot: slots[0], blocks: 1 });
    table.take(slots[0]!);
    expect(table.findShared(prompt, 9)).toEqual({ slot: slots[1], blocks: 1 });
    expect(table.findShared(chainOfBlocks(99), 9)).toBeUndefined();
  });

  it("gives up an empty sequence first, then the one unused the longest", () => {
    const { slots, table } = tableOf(3);
    for (const index of [1, 0]) {
      slots[index]!.assign(chainOfBlocks(10), 4);
      table.take(slots[index]!);
      slots[index]!.busy = false;
    }
    expect(table.findOldest()).toBe(slots[2]);
    table.take(slots[2]!);
    expect(table.findOldest()).toBe(slots[1]);
    for (const slot of slots) slot.busy = true;
    expect(table.findOldest()).toBeUndefined();
    expect(table.hasIdle).toBe(false);
  });
});

describe("Slot", () => {
  it("holds whole blocks of what was fed, and lets go of what another prompt does not share", () => {
    const holdings = new KvHoldings();
    const slot = new SlotTable(1, holdings).slots[0]!;
    slot.assign(chainOfBlocks(10, 20, 30), 0);
    slot.setHeld(9);
    expect([slot.held, slot.heldBlocks, holdings.size]).toEqual([9, 2, 2]);
    slot.assign(chainOfBlocks(10, 25), 4);
    expect([slot.held, slot.heldBlocks, holdings.size]).toEqual([4, 1, 1]);
    slot.clear();
    expect([slot.held, slot.heldBlocks, holdings.size]).toEqual([0, 0, 0]);
    expect(slot.sharedBlocks(chainOfBlocks(10), 9)).toBe(0);
  });
});

function tableOf(count: number) {
  const table = new SlotTable(count, new KvHoldings());
  return { table, slots: table.slots };
}
