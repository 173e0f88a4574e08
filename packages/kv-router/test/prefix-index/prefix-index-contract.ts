import { beforeEach, describe, expect, it } from "vitest";
import { createOverlaps, type PrefixIndex, type RankSlot } from "../../src/index.ts";
import { finish, hashesOf, heldBlocks, noOverlap, overlapOf } from "./naive-index.ts";

/** What holds for every index. */
export function prefixIndexContract(name: string, create: () => PrefixIndex): void {
  describe(name, () => {
    let index: PrefixIndex;
    const overlaps = createOverlaps();

    const overlap = (rank: RankSlot, blocks: readonly number[]) => {
      index.find(hashesOf(blocks), overlaps);
      return overlapOf(overlaps, rank);
    };
    const onDevice = (rank: RankSlot, blocks: readonly number[]) => overlap(rank, blocks).device;

    beforeEach(() => {
      index = create();
    });

    it("knows nothing at first", () => {
      expect(overlap(0, [1, 2, 3])).toEqual(noOverlap);
      expect(index.blocks).toBe(0);
    });

    it("counts the leading blocks that a rank holds", () => {
      index.store(0, "device", null, hashesOf([1, 2, 3]));

      expect(onDevice(0, [1, 2, 3, 4])).toBe(3);
      expect(onDevice(0, [1, 2])).toBe(2);
      expect(onDevice(0, [1, 9, 10])).toBe(1);
      expect(onDevice(0, [9, 10, 11])).toBe(0);
      expect(onDevice(0, [])).toBe(0);
    });

    it("goes on from a parent", () => {
      index.store(0, "device", null, hashesOf([1, 2]));

      expect(index.store(0, "device", hashesOf([2]), hashesOf([3, 4]))).toBe("stored");
      expect(onDevice(0, [1, 2, 3, 4])).toBe(4);
    });

    it("keeps ranks apart", () => {
      index.store(0, "device", null, hashesOf([1, 2, 3]));
      index.store(5, "device", null, hashesOf([1, 2, 9]));
      index.store(2, "device", null, hashesOf([1]));

      index.find(hashesOf([1, 2, 3, 4]), overlaps);

      expect(overlaps.length).toBe(6);
      expect([...overlaps.device.subarray(0, 6)]).toEqual([3, 0, 1, 0, 0, 2]);
    });

    it("writes nothing of the prompt before", () => {
      index.store(0, "device", null, hashesOf([1, 2]));
      index.store(0, "host", hashesOf([2]), hashesOf([3]));
      overlap(0, [1, 2, 3]);

      expect(overlap(0, [9])).toEqual(noOverlap);
    });

    it("fills a result that another index has used", () => {
      const large = create();
      large.store(40, "device", null, hashesOf([1]));
      large.find(hashesOf([1]), overlaps);

      index.store(0, "device", null, hashesOf([1]));
      index.find(hashesOf([1]), overlaps);

      expect(overlaps.length).toBe(1);
      expect(overlapOf(overlaps, 40)).toEqual(noOverlap);
    });

    it("stores nothing under a parent that the rank does not hold", () => {
      index.store(0, "device", null, hashesOf([1, 2]));

      expect(index.store(1, "device", hashesOf([2]), hashesOf([3]))).toBe("orphan");
      expect(index.store(0, "device", hashesOf([7]), hashesOf([3]))).toBe("orphan");
      expect(index.blocks).toBe(2);
      expect(onDevice(1, [1, 2, 3])).toBe(0);
    });

    it("stores under a parent that the rank holds on another tier", () => {
      index.store(0, "host", null, hashesOf([1]));

      expect(index.store(0, "device", hashesOf([1]), hashesOf([2]))).toBe("stored");
    });

    it("counts a block once however many hold it", () => {
      index.store(0, "device", null, hashesOf([1, 2]));
      index.store(1, "device", null, hashesOf([1, 3]));
      index.store(1, "host", null, hashesOf([1]));

      expect(index.blocks).toBe(3);
    });

    it("tells hashes apart that differ in any of their bytes", () => {
      const hash = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
      index.store(0, "device", null, hash);

      for (let at = 0; at < 8; at += 1) {
        const other = hash.slice();
        other[at] = 200;
        index.find(other, overlaps);
        expect(overlapOf(overlaps, 0).device).toBe(0);
      }
      index.find(hash, overlaps);
      expect(overlapOf(overlaps, 0).device).toBe(1);
    });

    it("reads hashes at any place of a buffer", () => {
      const shifted = new Uint8Array(8 * 3 + 3);
      shifted.set(hashesOf([1, 2, 3]), 3);
      index.store(0, "device", null, shifted.subarray(3, 11));
      index.store(0, "device", shifted.subarray(3, 11), shifted.subarray(11));

      index.find(shifted.subarray(3), overlaps);
      expect(overlapOf(overlaps, 0).device).toBe(3);
    });

    it("finds blocks that were told of without their parents", () => {
      index.store(0, "device", null, hashesOf([1, 2, 3]));
      index.store(1, "device", null, hashesOf([1]));
      index.store(1, "device", null, hashesOf([3]));
      index.store(2, "device", null, hashesOf([1]));
      index.store(2, "device", null, hashesOf([13, 14]));
      expect(onDevice(1, [1, 2, 3])).toBe(1);
      expect(onDevice(2, [1, 12, 13, 14])).toBe(1);

      index.store(1, "device", hashesOf([1]), hashesOf([2]));
      index.store(2, "device", hashesOf([1]), hashesOf([12]));

      expect(onDevice(1, [1, 2, 3])).toBe(3);
      expect(onDevice(2, [1, 12, 13, 14])).toBe(4);
    });

    it("learns the parent of a block that was told of without", () => {
      index.store(0, "device", null, hashesOf([3]));
      index.store(0, "device", null, hashesOf([1, 2, 3]));
      index.store(1, "device", null, hashesOf([1, 2, 3]));
      expect(onDevice(0, [1, 2, 3])).toBe(3);

      index.remove(0, "device", hashesOf([2]));

      expect(onDevice(0, [1, 2, 3])).toBe(1);
      expect(onDevice(1, [1, 2, 3])).toBe(3);
      for (const rank of [0, 1]) finish(index.removeRank(rank));
      expect(index.blocks).toBe(0);
    });

    describe("removal", () => {
      it("takes blocks away from one rank", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3]));
        index.store(1, "device", null, hashesOf([1, 2, 3]));

        expect(index.remove(0, "device", hashesOf([3, 2]))).toBe(0);
        expect(onDevice(0, [1, 2, 3])).toBe(1);
        expect(onDevice(1, [1, 2, 3])).toBe(3);
      });

      it("skips absent blocks and goes on", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3]));
        index.store(1, "device", null, hashesOf([8]));

        expect(index.remove(0, "device", hashesOf([9, 3, 8, 2, 3]))).toBe(3);
        expect(onDevice(0, [1, 2, 3])).toBe(1);
        expect(onDevice(1, [8])).toBe(1);
      });

      it("takes nothing from a rank that has no blocks", () => {
        expect(index.remove(3, "host", hashesOf([1, 2]))).toBe(2);
      });

      it("takes one copy at a time", () => {
        index.store(0, "device", null, hashesOf([1, 2]));
        index.store(0, "device", null, hashesOf([1, 2]));
        index.store(0, "device", null, hashesOf([1]));

        expect(index.remove(0, "device", hashesOf([1, 2, 1]))).toBe(0);
        expect(onDevice(0, [1, 2])).toBe(2);
        expect(index.remove(0, "device", hashesOf([2, 2, 1]))).toBe(1);
        expect(onDevice(0, [1, 2])).toBe(0);
        expect(index.blocks).toBe(0);
      });

      it("leaves what comes after a removed block, for when it comes back", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3, 4]));
        index.remove(0, "device", hashesOf([2]));
        expect(onDevice(0, [1, 2, 3, 4])).toBe(1);

        index.store(0, "device", hashesOf([1]), hashesOf([2]));
        expect(onDevice(0, [1, 2, 3, 4])).toBe(4);
      });

      it("knows a gap in one rank's prefix from the next rank's unbroken one", () => {
        for (const rank of [0, 1]) {
          index.store(rank, "device", null, hashesOf([1, 2, 3]));
          index.store(rank, "device", hashesOf([2]), hashesOf([4]));
          index.store(rank, "device", hashesOf([2]), hashesOf([5]));
        }
        index.remove(1, "device", hashesOf([2, 5]));

        index.find(hashesOf([1, 2, 4]), overlaps);
        expect([...overlaps.device.subarray(0, 2)]).toEqual([3, 1]);
      });

      it("forgets a block whose last child is gone", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3]));
        index.remove(0, "device", hashesOf([1, 2, 3]));

        expect(index.blocks).toBe(0);
        expect(index.store(0, "device", hashesOf([2]), hashesOf([3]))).toBe("orphan");
      });
    });

    describe("tiers", () => {
      it("lets slower tiers go on where the faster ones end", () => {
        index.store(0, "device", null, hashesOf([1, 2]));
        index.store(0, "host", null, hashesOf([1, 2, 3]));
        index.store(0, "disk", null, hashesOf([1, 2, 3, 4, 5]));

        expect(overlap(0, [1, 2, 3, 4, 5, 6])).toEqual({ device: 2, host: 1, disk: 2 });
      });

      it("counts no block of a slower tier that does not go on", () => {
        index.store(0, "device", null, hashesOf([1]));
        index.store(0, "host", hashesOf([1]), hashesOf([2, 3]));
        index.remove(0, "host", hashesOf([2]));

        expect(overlap(0, [1, 2, 3])).toEqual({ device: 1, host: 0, disk: 0 });
      });

      it("does not return to the device after a slower tier", () => {
        index.store(0, "device", null, hashesOf([1]));
        index.store(0, "host", hashesOf([1]), hashesOf([2]));
        index.store(0, "device", hashesOf([2]), hashesOf([3]));

        expect(overlap(0, [1, 2, 3])).toEqual({ device: 1, host: 1, disk: 0 });
      });

      it("starts on a slower tier if the device has nothing", () => {
        index.store(0, "disk", null, hashesOf([1, 2]));

        expect(overlap(0, [1, 2])).toEqual({ device: 0, host: 0, disk: 2 });
      });

      it("counts copies tier by tier", () => {
        index.store(0, "device", null, hashesOf([1]));
        index.store(0, "host", null, hashesOf([1]));

        expect(index.remove(0, "device", hashesOf([1]))).toBe(0);
        expect(index.remove(0, "device", hashesOf([1]))).toBe(1);
        expect(overlap(0, [1])).toEqual({ device: 0, host: 1, disk: 0 });
      });
    });

    describe("a rank that is cleared or removed", () => {
      it.each(["clearRank", "removeRank"] as const)(
        "reads as empty after %s, before the job",
        (how) => {
          index.store(0, "device", null, hashesOf([1, 2, 3]));
          index.store(0, "host", null, hashesOf([1, 2, 3, 4]));
          index.store(1, "device", null, hashesOf([1, 2]));

          const job = index[how](0);

          expect(overlap(0, [1, 2, 3])).toEqual(noOverlap);
          expect(onDevice(1, [1, 2, 3])).toBe(2);
          expect(heldBlocks(index, 0, "device")).toEqual([]);
          expect(index.remove(0, "device", hashesOf([1]))).toBe(1);
          finish(job);
          expect(index.blocks).toBe(2);
          expect(onDevice(1, [1, 2, 3])).toBe(2);
        },
      );

      it("takes new blocks while the job goes on", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3, 4]));
        const job = index.clearRank(0);
        job.step(1);

        expect(index.store(0, "device", hashesOf([4]), hashesOf([5]))).toBe("orphan");
        index.store(0, "device", null, hashesOf([1, 2]));
        finish(job);

        expect(onDevice(0, [1, 2, 3, 4])).toBe(2);
        expect(index.blocks).toBe(2);
      });

      it("handles no more blocks a step than allowed", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3, 4]));
        const job = index.removeRank(0);

        expect(job.step(1)).toBe(false);
        expect(index.blocks).toBeGreaterThanOrEqual(3);
        expect(job.step(100)).toBe(true);
        expect(job.step(100)).toBe(true);
        expect(index.blocks).toBe(0);
      });

      it("forgets copies too", () => {
        index.store(0, "device", null, hashesOf([1]));
        index.store(0, "device", null, hashesOf([1]));
        finish(index.clearRank(0));
        index.store(0, "device", null, hashesOf([1]));

        expect(index.remove(0, "device", hashesOf([1, 1]))).toBe(1);
      });

      it("may be one that nobody knows", () => {
        expect(index.removeRank(9).step(10)).toBe(true);
      });

      it("gives its slot to another rank", () => {
        index.store(0, "device", null, hashesOf([1, 2]));
        finish(index.removeRank(0));
        index.store(0, "device", null, hashesOf([1, 7]));

        expect(onDevice(0, [1, 2])).toBe(1);
        expect(onDevice(0, [1, 7])).toBe(2);
      });
    });

    describe("a rank that is loaded anew", () => {
      it("serves the old until the commit, and then the new", () => {
        index.store(0, "device", null, hashesOf([1, 2, 3]));
        const load = index.loadRank(0);
        expect(load.store("device", null, hashesOf([1, 5]))).toBe("stored");
        expect(load.store("host", hashesOf([5]), hashesOf([6]))).toBe("stored");
        expect(load.store("device", hashesOf([2]), hashesOf([3]))).toBe("orphan");
        expect(onDevice(0, [1, 2, 3])).toBe(3);
        expect(onDevice(0, [1, 5])).toBe(1);

        const job = load.commit();

        expect(onDevice(0, [1, 2, 3])).toBe(1);
        expect(overlap(0, [1, 5, 6])).toEqual({ device: 2, host: 1, disk: 0 });
        finish(job);
        expect(overlap(0, [1, 5, 6])).toEqual({ device: 2, host: 1, disk: 0 });
        expect(index.blocks).toBe(3);
      });

      it("is changed by events before and after the commit", () => {
        index.store(0, "device", null, hashesOf([1, 2]));
        const load = index.loadRank(0);
        load.store("device", null, hashesOf([1, 5]));
        index.remove(0, "device", hashesOf([2]));
        expect(onDevice(0, [1, 2])).toBe(1);

        const job = load.commit();
        index.store(0, "device", hashesOf([5]), hashesOf([6]));
        index.remove(0, "device", hashesOf([6]));
        index.store(0, "device", hashesOf([5]), hashesOf([7]));
        finish(job);

        expect(onDevice(0, [1, 5, 7])).toBe(3);
        expect(index.blocks).toBe(3);
      });

      it("stays as it was if the load is abandoned", () => {
        index.store(0, "device", null, hashesOf([1, 2]));
        const load = index.loadRank(0);
        load.store("device", null, hashesOf([1, 5, 6]));

        finish(load.abandon());

        expect(onDevice(0, [1, 2])).toBe(2);
        expect(onDevice(0, [1, 5])).toBe(1);
        expect(index.blocks).toBe(2);
      });

      it("listens to the latest load only", () => {
        const first = index.loadRank(0);
        first.store("device", null, hashesOf([1, 2]));
        const second = index.loadRank(0);
        second.store("device", null, hashesOf([7]));

        expect(first.store("device", null, hashesOf([3]))).toBe("dropped");
        finish(first.commit());
        expect(onDevice(0, [1])).toBe(0);
        finish(second.commit());
        finish(first.abandon());

        expect(onDevice(0, [7])).toBe(1);
        expect(index.blocks).toBe(1);
      });

      it.each(["clearRank", "removeRank"] as const)("forgets the load when it meets %s", (how) => {
        const load = index.loadRank(0);
        load.store("device", null, hashesOf([1, 2]));
        finish(index[how](0));

        finish(load.commit());

        expect(onDevice(0, [1])).toBe(0);
        expect(index.blocks).toBe(0);
      });

      it("may be one that had nothing", () => {
        const load = index.loadRank(2);
        load.store("device", null, hashesOf([1]));
        finish(load.commit());

        expect(onDevice(2, [1])).toBe(1);
        expect(load.commit().step(1)).toBe(true);
      });
    });

    it("lists what a rank holds", () => {
      index.store(0, "device", null, hashesOf([1, 2]));
      index.store(0, "host", hashesOf([2]), hashesOf([3]));
      index.store(1, "device", null, hashesOf([1, 4]));

      expect(heldBlocks(index, 0, "device")).toEqual([1, 2]);
      expect(heldBlocks(index, 0, "host")).toEqual([3]);
      expect(heldBlocks(index, 1, "device")).toEqual([1, 4]);
      expect(heldBlocks(index, 7, "device")).toEqual([]);
    });

    it("takes memory for what it knows", () => {
      const before = index.bytes;
      index.store(0, "device", null, hashesOf(Array.from({ length: 20_000 }, (_, at) => at + 1)));

      expect(index.bytes - before).toBeGreaterThan(20_000 * 8);
    });
  });
}
