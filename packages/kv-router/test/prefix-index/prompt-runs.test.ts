import { describe, expect, it } from "vitest";
import { BlockTable } from "../../src/prefix-index/block-table.ts";
import { highWord, lowWord } from "../../src/prefix-index/hash-words.ts";
import { PromptRuns } from "../../src/prefix-index/prompt-runs.ts";
import { hashesOf } from "./naive-index.ts";

/** A table with one prompt 1, 2, 3 … whose blocks have these sets. */
function tableOf(sets: readonly number[]) {
  const blocks = new BlockTable();
  let parent = 0;
  for (const [at, set] of sets.entries()) {
    const hash = hashesOf([at + 1]);
    parent = blocks.add(lowWord(hash, 0), highWord(hash, 0), parent);
    blocks.putSet(parent, set);
  }
  return blocks;
}

const prompt = (length: number) => hashesOf(Array.from({ length }, (_, at) => at + 1));

function cut(runs: PromptRuns) {
  return {
    ends: [...runs.ends.subarray(0, runs.length)],
    sets: [...runs.sets.subarray(0, runs.length)],
    deepest: runs.deepest,
  };
}

const cases: readonly (readonly [string, number[], number, ReturnType<typeof cut>])[] = [
  ["one block", [7], 1, { ends: [1], sets: [7], deepest: 1 }],
  ["one set", [7, 7, 7, 7, 7], 5, { ends: [5], sets: [7], deepest: 5 }],
  ["an unknown end", [7, 7, 7], 8, { ends: [3], sets: [7], deepest: 3 }],
  [
    "a change at every block",
    [5, 4, 3, 2],
    4,
    { ends: [1, 2, 3, 4], sets: [5, 4, 3, 2], deepest: 4 },
  ],
  ["some changes", [5, 5, 5, 2, 2, 1], 9, { ends: [3, 5, 6], sets: [5, 2, 1], deepest: 6 }],
  ["blocks that nobody holds", [5, 5, 0, 0], 4, { ends: [2], sets: [5], deepest: 2 }],
  ["nothing that is held", [0, 0], 2, { ends: [], sets: [], deepest: 0 }],
  ["nothing known", [], 3, { ends: [], sets: [], deepest: 0 }],
  ["no blocks", [5], 0, { ends: [], sets: [], deepest: 0 }],
];

describe("the runs of a prompt", () => {
  it.each(cases)("are found by walking: %s", (_, sets, length, expected) => {
    const runs = new PromptRuns(tableOf(sets));
    runs.walk(prompt(length));

    expect(cut(runs)).toEqual(expected);
  });

  it.each(cases)("are found by jumping: %s", (_, sets, length, expected) => {
    const runs = new PromptRuns(tableOf(sets));

    expect(runs.jump(prompt(length))).toBe(true);
    expect(cut(runs)).toEqual(expected);
  });

  it("may be many", () => {
    const sets = Array.from({ length: 1_000 }, (_, at) => 2_000 - at);
    const runs = new PromptRuns(tableOf(sets));

    expect(runs.jump(prompt(1_200))).toBe(true);
    expect(cut(runs).sets).toEqual(sets);
    expect(cut(runs).ends).toEqual(sets.map((_, at) => at + 1));
  });

  it("cannot be jumped over where a block is at another place than the prompt has it", () => {
    const blocks = tableOf([7, 7, 7, 7]);
    blocks.putDepth(4, 0);
    const runs = new PromptRuns(blocks);

    expect(runs.jump(prompt(4))).toBe(false);
  });
});
