import { describe, expect, it } from "vitest";
import { BlockEviction } from "../../src/prefix-index/block-eviction.ts";
import { type BlockId, BlockTable, hottest } from "../../src/prefix-index/block-table.ts";

/** A table with a prompt of `length` blocks for each name, and what it gives up. */
function rig(...lengths: readonly number[]) {
  const blocks = new BlockTable();
  const eviction = new BlockEviction(blocks);
  const prompts = lengths.map((length, name) => {
    const ids: BlockId[] = [];
    for (let at = 0; at < length; at += 1) ids.push(blocks.add(at, name, ids.at(-1) ?? 0));
    return ids;
  });
  const giveUp = (pinned: BlockId = 0) => {
    const id = eviction.choose(pinned);
    if (id !== 0) blocks.delete(id);
    return id;
  };
  return { blocks, prompts, giveUp };
}

describe("what a full index gives up", () => {
  it("is nothing of an empty one", () => {
    expect(rig().giveUp()).toBe(0);
  });

  it("is a prompt from its end, and then the next prompt", () => {
    const { prompts, giveUp } = rig(3, 2);
    const [first, second] = prompts;

    const gone = Array.from({ length: 6 }, () => giveUp());

    expect(gone).toEqual([...first!.toReversed(), ...second!.toReversed(), 0]);
  });

  it("is not what was of use lately, until it has cooled down", () => {
    const { blocks, prompts, giveUp } = rig(2, 2);
    const [hot, cold] = prompts;
    blocks.putRecency(hot![1]!, hottest);

    expect(Array.from({ length: 4 }, () => giveUp())).toEqual([
      cold![1],
      cold![0],
      hot![1],
      hot![0],
    ]);
  });

  it("keeps a warm start of a prompt when its end goes", () => {
    const { blocks, prompts, giveUp } = rig(4, 4);
    const [warm, other] = prompts;
    blocks.putRecency(warm![1]!, 2);

    expect([giveUp(), giveUp(), giveUp()]).toEqual([warm![3], warm![2], other![3]]);
  });

  it("is never the pinned one", () => {
    const { prompts, giveUp } = rig(1, 1);

    expect(giveUp(prompts[0]![0])).toBe(prompts[1]![0]);
    expect(giveUp(prompts[0]![0])).toBe(0);
    expect(giveUp()).toBe(prompts[0]![0]);
  });

  it("is looked for in bounded work", () => {
    const { prompts, giveUp } = rig(10_000);

    expect([giveUp(), giveUp()]).toEqual([0, 0]);
    expect(giveUp()).toBe(prompts[0]!.at(-1));
  });
});
