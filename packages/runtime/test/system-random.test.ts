import { describe, expect, it } from "vitest";
import { SystemRandom } from "../src/system-random.ts";

describe("SystemRandom", () => {
  it("gives numbers in [0, 1), words of 32 bits, and does not repeat itself", () => {
    const random = new SystemRandom();
    const words = new Set<number>();
    let isInRange = true;
    for (let index = 0; index < 5_000; index++) {
      const number = random.number();
      const word = random.u32();
      isInRange &&= number >= 0 && number < 1 && Number.isInteger(word) && word < 2 ** 32;
      words.add(word);
    }
    expect(isInRange).toBe(true);
    expect(words.size).toBeGreaterThan(4_980);
  });

  it("gives secrets and ids of the asked length", () => {
    const random = new SystemRandom();

    expect(random.bytes(32)).toHaveLength(32);
    expect(Object.getPrototypeOf(random.bytes(8))).toBe(Uint8Array.prototype);
    expect(random.id("h")).toMatch(/^h-[a-z2-7]{16}$/);
    expect(random.id("h")).not.toBe(random.id("h"));
  });
});
