import { describe, expect, it } from "vitest";
import { Samples } from "../../src/sim/samples.ts";

describe("samples", () => {
  it("keep all that was added, in order", () => {
    const samples = new Samples();
    const values = Array.from({ length: 5_000 }, (_, at) => at / 3);
    for (const value of values) samples.add(value);

    expect(samples.count).toBe(5_000);
    expect([...samples.values()]).toEqual(values);
  });
});
