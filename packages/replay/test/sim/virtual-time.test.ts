import { describe, expect, it } from "vitest";
import { Happening, VirtualTime } from "../../src/sim/virtual-time.ts";

describe("virtual time", () => {
  it("goes from one happening to the next, those of one time in the order of planning", () => {
    const time = new VirtualTime();
    const seen: string[] = [];
    const say = (text: string) => new Happening(() => seen.push(`${text} ${time.nowMs}`));
    time.plan(5, say("late"));
    time.plan(2, say("a"));
    time.plan(2, say("b"));

    time.run();

    expect(seen).toEqual(["a 2", "b 2", "late 5"]);
  });

  it("never goes back", () => {
    const time = new VirtualTime();
    const seen: number[] = [];
    const past = new Happening(() => seen.push(time.nowMs));
    time.plan(9, new Happening(() => time.plan(4, past)));

    time.run();

    expect(seen).toEqual([9]);
  });

  it("lets a happening plan itself anew", () => {
    const time = new VirtualTime();
    let left = 3;
    const again = new Happening(() => {
      if (--left > 0) time.plan(time.nowMs + 10, again);
    });
    time.plan(0, again);

    time.run();

    expect([left, time.nowMs]).toEqual([0, 20]);
  });
});
