import { describe, expect, it } from "vitest";
import { readYaml } from "../../src/policy/read-yaml.ts";

const text = `# policy
router:
  a: 1
list:
  - name: x
    deep: {b: 2}
  - name: y
shared: &s
  c: 3
alias: *s
`;

describe("the line of a key", () => {
  const yaml = readYaml(text);

  it.each([
    [["router"], 2],
    [["router", "a"], 3],
    [["list", 0], 5],
    [["list", 0, "deep", "b"], 6],
    [["list", 1, "name"], 7],
    [["alias", "c"], 9],
  ])("%j is %i", (path, line) => {
    expect(yaml.lineOf(path)).toBe(line);
  });

  it("is that of the closest key above one that is not there", () => {
    expect(yaml.lineOf(["list", 1, "absent"])).toBe(7);
    expect(yaml.lineOf(["router", "a", "absent"])).toBe(3);
    expect(yaml.lineOf(["absent"])).toBe(1);
  });
});

describe("reading", () => {
  it("gives plain values", () => {
    expect(readYaml("a: [1, yes, ~]").value).toEqual({ a: [1, "yes", null] });
    expect(readYaml("").value).toBeNull();
    expect(readYaml("# nothing").value).toBeNull();
  });

  it.each([
    ["a: 1\na: 2", 2, "unique"],
    ["a: 1\nb: [", 2, "]"],
    ["a: 1\n---\nb: 2", 2, "multiple documents"],
    ["a: *nowhere", 1, "alias"],
    ["a: 1\n? [b]\n: c", 2, "strings"],
    ["a: !mystery 1", 1, "mystery"],
  ])("says what keeps %j from being YAML, and where", (broken, line, words) => {
    const { problems } = readYaml(broken);

    expect(problems[0]?.line).toBe(line);
    expect(problems[0]?.text).toContain(words);
  });

  it("refuses aliases that grow out of all proportion", () => {
    const level = (name: string, of: string) => `${name}: &${name} [${`*${of},`.repeat(20)}]`;
    const bomb = ["a: &a [x]", level("b", "a"), level("c", "b"), level("d", "c")].join("\n");

    expect(readYaml(bomb).problems).toHaveLength(1);
  });
});
