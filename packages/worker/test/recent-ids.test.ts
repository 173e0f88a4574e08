import { requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { RecentIds } from "../src/recent-ids.ts";

const id = (n: number) => requestId(`r${n}`);

describe("RecentIds", () => {
  it("remembers an id for its time, and from anew when it comes again", () => {
    const recent = new RecentIds(5_000);
    recent.add(id(1), 0);
    recent.add(id(2), 1_000);
    recent.add(id(1), 4_000);

    expect([recent.has(id(1), 8_999), recent.has(id(2), 5_999)]).toEqual([true, true]);
    expect([recent.has(id(1), 9_000), recent.has(id(2), 6_000)]).toEqual([false, false]);
    expect(recent.has(id(3), 0)).toBe(false);
  });

  it("lets go of what is over, and of the oldest when there are too many", () => {
    const recent = new RecentIds(5_000);
    for (let n = 0; n < 70_000; n++) recent.add(id(n), n < 100 ? 0 : 6_000);

    expect(recent.size).toBe(65_536);
    expect(recent.has(id(69_999), 6_000)).toBe(true);
    expect(recent.has(id(100), 6_000)).toBe(false);
  });
});
