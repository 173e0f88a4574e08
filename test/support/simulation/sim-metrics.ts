import type { Counter, Histogram, Metrics } from "@baton/runtime";

type Labels = Readonly<Record<string, string>>;
type Reading = number | readonly (readonly [labels: Labels, value: number])[];

/** One process's figures in plain maps, readable at any moment. */
export class SimMetrics implements Metrics {
  readonly #counters = new Map<string, number>();
  readonly #gauges = new Map<string, () => Reading>();

  counter(name: string): Counter {
    return {
      add: (amount = 1, labels = {}) => {
        const key = keyOf(name, labels);
        this.#counters.set(key, (this.#counters.get(key) ?? 0) + amount);
      },
    };
  }

  histogram(): Histogram {
    return { observe: () => undefined };
  }

  gauge(name: string, _help: string, read: () => Reading): void {
    this.#gauges.set(name, read);
  }

  /** A gauge, its labels added up; null if the process has none of that name. */
  readGauge(name: string): number | null {
    const reading = this.#gauges.get(name)?.();
    if (reading === undefined) return null;
    if (typeof reading === "number") return reading;
    return reading.reduce((sum, [, value]) => sum + value, 0);
  }

  /** The sum of all counters whose name, with labels, matches. */
  sumCounters(pattern: RegExp): number {
    let sum = 0;
    for (const [key, value] of this.#counters) if (pattern.test(key)) sum += value;
    return sum;
  }
}

function keyOf(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return pairs.length === 0 ? name : `${name}{${pairs.sort().join(",")}}`;
}
