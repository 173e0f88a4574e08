import { describe, expect, it } from "vitest";
import { HolderSlots } from "../../src/prefix-index/holder-slots.ts";

describe("who answers for a slot", () => {
  it("is nobody at first", () => {
    const slots = new HolderSlots();

    expect(slots.ofSlot(3)).toBe(-1);
    expect(slots.slots).toBe(0);
    expect(slots.detach(3)).toEqual([]);
  });

  it("is the holder that was assigned, until it is detached", () => {
    const slots = new HolderSlots();
    const holder = slots.open();
    slots.assign(2, holder);
    expect([slots.ofSlot(2), slots.slotOf(holder), slots.slots]).toEqual([holder, 2, 3]);

    expect(slots.detach(2)).toEqual([holder]);

    expect([slots.ofSlot(2), slots.slotOf(holder)]).toEqual([-1, -1]);
    expect(slots.isGone(holder)).toBe(true);
    expect(slots.detach(2)).toEqual([]);
  });

  it("is the staged one after a commit", () => {
    const slots = new HolderSlots();
    const [old, staged] = [slots.open(), slots.open()];
    slots.assign(0, old);
    slots.stage(0, staged);
    expect([slots.ofSlot(0), slots.slotOf(staged), slots.isStaged(0, staged)]).toEqual([
      0,
      -1,
      true,
    ]);

    expect(slots.commit(0)).toEqual([old]);

    expect([slots.ofSlot(0), slots.slotOf(staged), slots.isStaged(0, staged)]).toEqual([
      1,
      0,
      false,
    ]);
    expect([slots.isGone(old), slots.isGone(staged)]).toEqual([true, false]);
  });

  it("hands on the staged holders that others took the place of", () => {
    const slots = new HolderSlots();
    const [first, second, other] = [slots.open(), slots.open(), slots.open()];
    slots.stage(0, first);
    slots.stage(0, second);
    slots.assign(1, other);

    expect(slots.isStaged(0, first)).toBe(false);
    expect(slots.detach(1)).toEqual([first, other]);
    expect(slots.unstage(0)).toEqual([second]);
  });

  it("forgets the staged one with the slot's", () => {
    const slots = new HolderSlots();
    const [old, staged] = [slots.open(), slots.open()];
    slots.assign(0, old);
    slots.stage(0, staged);

    expect(slots.detach(0)).toEqual([staged, old]);
    expect(slots.isStaged(0, staged)).toBe(false);
  });

  it("gives a closed holder's number again, with nothing lost", () => {
    const slots = new HolderSlots();
    const holder = slots.open();
    slots.assign(0, holder);
    slots.lose(holder);
    expect(slots.hasLost(holder)).toBe(true);
    slots.detach(0);
    slots.close(holder);

    expect(slots.open()).toBe(holder);

    expect(slots.hasLost(holder)).toBe(false);
    expect(slots.isGone(holder)).toBe(false);
    expect(slots.open()).not.toBe(holder);
  });

  it("has another version whenever somebody comes or goes", () => {
    const slots = new HolderSlots();
    const versions = [slots.version];
    const holder = slots.open();
    versions.push(slots.version);
    slots.assign(0, holder);
    slots.detach(0);
    versions.push(slots.version);

    expect(new Set(versions).size).toBe(3);
  });
});
