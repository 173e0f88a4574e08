import { describe, expect, it } from "vitest";
import { BoundedMap } from "../../src/source/bounded-map.ts";

describe("BoundedMap", () => {
  it("forgets what was set first, counting a value set again as new", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);

    expect([...map]).toEqual([
      ["a", 3],
      ["c", 4],
    ]);
    expect(map.get("b")).toBeUndefined();
    map.delete("a");
    expect(map.size).toBe(1);
    map.clear();
    expect(map.size).toBe(0);
  });
});
