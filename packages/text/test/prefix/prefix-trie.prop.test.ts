import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type PrefixNode, PrefixTrie } from "../../src/prefix/prefix-trie.ts";

const pieceUnits = 2;

/** Follows a text and adds what is not known; the ids of a piece are the text up to its end. Returns what was known. */
function run(trie: PrefixTrie, text: string): string[] {
  const known: string[] = [];
  let node: PrefixNode | undefined = trie.root;
  let at = 0;
  for (; at + pieceUnits <= text.length; at += pieceUnits) {
    const child: PrefixNode | undefined = trie.child(node, text, at);
    if (child === undefined) break;
    known.push(String.fromCharCode(...child.ids));
    node = child;
  }
  trie.touch(node);
  for (; at + pieceUnits <= text.length && node !== undefined; at += pieceUnits) {
    const ids = Uint32Array.from(text.slice(0, at + pieceUnits), (unit) => unit.charCodeAt(0));
    node = trie.extend(node, text, at, at, ids);
  }
  return known;
}

describe("a trie of prefixes", () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 }), {
    maxLength: 60,
  });

  it("only ever tells what belongs to the text, within its bound", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 20_000 }), (all, maxBytes) => {
        const trie = new PrefixTrie(maxBytes, pieceUnits);
        for (const text of all) {
          const known = run(trie, text);
          expect(known).toEqual(known.map((_, index) => text.slice(0, (index + 1) * pieceUnits)));
          expect(trie.bytes).toBeLessThanOrEqual(maxBytes);
        }
      }),
    );
  });

  it("knows all of a text that came before, if there is room", () => {
    fc.assert(
      fc.property(texts, (all) => {
        const trie = new PrefixTrie(10_000_000, pieceUnits);
        for (const text of all) run(trie, text);
        for (const text of all) {
          expect(run(trie, text)).toHaveLength(Math.floor(text.length / pieceUnits));
        }
      }),
    );
  });
});
