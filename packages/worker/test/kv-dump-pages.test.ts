import type { KvEvent } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { cutIntoPages } from "../src/kv-dump-pages.ts";

function run(first: number, count: number): KvEvent {
  const sequenceHashes = new Uint8Array(8 * count);
  for (let at = 0; at < count; at++) sequenceHashes[8 * at] = first + at;
  return { kind: "stored", parent: null, blockHashes: sequenceHashes, sequenceHashes };
}

/** `first+count<parent` of each run. */
const shape = (pages: readonly (readonly KvEvent[])[]) =>
  pages.map((page) =>
    page.map((event) =>
      event.kind === "stored"
        ? `${event.sequenceHashes[0]}+${event.sequenceHashes.byteLength / 8}<${event.parent?.[0] ?? "root"}`
        : event.kind,
    ),
  );

describe("cutIntoPages", () => {
  it("gives one empty page for nothing", () => {
    expect(cutIntoPages([], 4)).toEqual([[]]);
  });

  it("cuts a run where a page is full, and lets it go on under its last block", () => {
    expect(shape(cutIntoPages([run(1, 3), run(10, 6), run(20, 1)], 4))).toEqual([
      ["1+3<root", "10+1<root"],
      ["11+4<10"],
      ["15+1<14", "20+1<root"],
    ]);
  });

  it("makes no empty page at the end", () => {
    expect(shape(cutIntoPages([run(1, 8)], 4))).toEqual([["1+4<root"], ["5+4<4"]]);
  });

  it("keeps the tier of what it cuts", () => {
    const pages = cutIntoPages([{ ...run(1, 3), tier: "disk" } as KvEvent], 2);

    expect(pages.flat()).toMatchObject([{ tier: "disk" }, { tier: "disk" }]);
  });
});
