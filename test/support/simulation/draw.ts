import type { SeededRandom } from "@baton/runtime";

/** Choices from a seeded generator. */
export class Draw {
  readonly random: SeededRandom;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  chance(probability: number): boolean {
    return this.random.number() < probability;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.random.number();
  }

  /** Both ends included. */
  integer(low: number, high: number): number {
    return low + (this.random.u32() % (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.random.u32() % items.length];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  weighted<T>(choices: readonly (readonly [item: T, weight: number])[]): T {
    let rest = this.random.number() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of choices) {
      rest -= weight;
      if (rest < 0) return item;
    }
    throw new Error("nothing to choose from");
  }
}
