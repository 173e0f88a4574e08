import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SubjectTrie } from "../../src/bus/subject-trie.ts";

/** NATS's rule, one token after the other. */
function matches(pattern: readonly string[], subject: readonly string[]): boolean {
  const [head, ...rest] = pattern;
  if (head === undefined) return subject.length === 0;
  if (subject.length === 0) return false;
  if (head === ">") return true;
  return (head === "*" || head === subject[0]) && matches(rest, subject.slice(1));
}

const token = fc.constantFrom("a", "b", "c");
const subject = fc.array(token, { minLength: 1, maxLength: 4 });
const pattern = fc
  .tuple(fc.array(fc.oneof(token, fc.constant("*")), { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([tokens, hasTail]) => (hasTail ? [...tokens, ">"] : tokens));

describe("SubjectTrie", () => {
  it("finds the patterns that match, after any additions and removals", () => {
    const changes = fc.array(fc.tuple(pattern, fc.boolean()), { maxLength: 30 });
    fc.assert(
      fc.property(changes, subject, (steps, asked) => {
        const trie = new SubjectTrie<string>();
        const model = new Set<string>();
        for (const [tokens, isRemoved] of steps) {
          const text = tokens.join(".");
          if (isRemoved) {
            trie.remove(text, text);
            model.delete(text);
          } else {
            trie.add(text, text);
            model.add(text);
          }
        }

        const wanted = [...model].filter((text) => matches(text.split("."), asked));
        expect(trie.match(asked.join(".")).sort()).toEqual(wanted.sort());
      }),
    );
  });

  it("keeps values of one pattern apart", () => {
    const trie = new SubjectTrie<number>();
    trie.add("a.b", 1);
    trie.add("a.b", 2);
    trie.remove("a.b", 1);
    trie.remove("a.x", 2);

    expect(trie.match("a.b")).toEqual([2]);
  });
});
