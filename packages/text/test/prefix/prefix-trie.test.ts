import { describe, expect, it } from "vitest";
import { type PrefixNode, PrefixTrie } from "../../src/prefix/prefix-trie.ts";

const pieceUnits = 4;

/** Adds a text of whole pieces, each with one id: how many pieces stand before it. */
function add(trie: PrefixTrie, text: string): PrefixNode | undefined {
  let node: PrefixNode | undefined = trie.root;
  for (let at = 0; at < text.length && node !== undefined; at += pieceUnits) {
    node = trie.extend(node, text, at, at + 1, Uint32Array.of(at / pieceUnits));
  }
  return node;
}

/** The ids along a text, as far as it is known. */
function idsAlong(trie: PrefixTrie, text: string): number[] {
  const ids: number[] = [];
  let node: PrefixNode | undefined = trie.child(trie.root, text, 0);
  for (let at = pieceUnits; node !== undefined; at += pieceUnits) {
    ids.push(...node.ids);
    node = trie.child(node, text, at);
  }
  return ids;
}

/** The memory of a trie with one node of one id. */
function bytesOfOne(): number {
  const trie = new PrefixTrie(1_000_000, pieceUnits);
  add(trie, "aaaa");
  return trie.bytes;
}

describe("a trie of prefixes", () => {
  it("finds what begins alike, piece by piece", () => {
    const trie = new PrefixTrie(1_000_000, pieceUnits);
    add(trie, "aaaabbbbcccc");
    add(trie, "aaaaXXXX");
    add(trie, "aaaaYYYY");

    expect(idsAlong(trie, "aaaabbbbcccc")).toEqual([0, 1, 2]);
    expect(idsAlong(trie, "aaaabbbbccc")).toEqual([0, 1]);
    expect(idsAlong(trie, "aaaaXXXXcccc")).toEqual([0, 1]);
    expect(idsAlong(trie, "aaaaYYYY")).toEqual([0, 1]);
    expect(idsAlong(trie, "aaaaZZZZ")).toEqual([0]);
    expect(idsAlong(trie, "bbbb")).toEqual([]);
  });

  it("keeps what is there when it comes again", () => {
    const trie = new PrefixTrie(1_000_000, pieceUnits);
    const first = add(trie, "aaaabbbb");
    const { bytes } = trie;

    expect(add(trie, "aaaabbbb")).toBe(first);
    expect(trie.bytes).toBe(bytes);
  });

  it("drops the leaves that were used longest ago when it is full", () => {
    const trie = new PrefixTrie(bytesOfOne() * 4, pieceUnits);
    add(trie, "aaaabbbb");
    add(trie, "aaaacccc");
    const used = add(trie, "aaaabbbb");
    add(trie, "dddd");
    if (used !== undefined) trie.touch(used);
    add(trie, "eeee");

    expect(idsAlong(trie, "aaaacccc")).toEqual([0]);
    expect(idsAlong(trie, "aaaabbbb")).toEqual([0, 1]);
    expect(idsAlong(trie, "dddd")).toEqual([0]);
    expect(idsAlong(trie, "eeee")).toEqual([0]);
    expect(trie.bytes).toBe(bytesOfOne() * 4);
  });

  it("finds new children of a node whose children were all dropped", () => {
    const trie = new PrefixTrie(bytesOfOne() * 3, pieceUnits);
    for (const text of ["aaaabbbb", "aaaacccc", "dddd", "eeee", "ffff"]) {
      add(trie, text);
    }
    add(trie, "gggg");
    add(trie, "aaaaXXXX");
    add(trie, "aaaaYYYY");

    expect(idsAlong(trie, "aaaaXXXX")).toEqual([0, 1]);
    expect(idsAlong(trie, "aaaaYYYY")).toEqual([0, 1]);
  });

  it("adds nothing below a piece that was dropped", () => {
    const trie = new PrefixTrie(bytesOfOne() * 2, pieceUnits);
    const dropped = add(trie, "aaaa");
    add(trie, "bbbb");
    add(trie, "cccc");

    expect(dropped && trie.extend(dropped, "aaaabbbb", 4, 5, new Uint32Array())).toBeUndefined();
    expect(trie.bytes).toBe(bytesOfOne() * 2);
  });

  it("holds nothing where there is no room", () => {
    const trie = new PrefixTrie(1, pieceUnits);

    expect(add(trie, "aaaa")).toBeUndefined();
    expect(idsAlong(trie, "aaaa")).toEqual([]);
    expect(trie.bytes).toBe(0);
  });
});
