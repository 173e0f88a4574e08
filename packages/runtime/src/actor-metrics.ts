import type { GaugeReading, Owner } from "./metric-families.ts";
import type { MetricNames } from "./metric-names.ts";
import type { Counter, Histogram, Metrics } from "./metrics.ts";

/** One actor's figures. */
export class ActorMetrics implements Metrics {
  readonly #owner: Owner;
  readonly #names: MetricNames;
  readonly #drops = new Map<string, () => void>();

  constructor(owner: Owner, names: MetricNames) {
    this.#owner = owner;
    this.#names = names;
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    const family = this.#names.counter(name, help, labelNames);
    this.#drops.set(name, () => family.drop(this.#owner));
    return family.of(this.#owner);
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[] = [],
  ): Histogram {
    const family = this.#names.histogram(name, help, buckets, labelNames);
    this.#drops.set(name, () => family.drop(this.#owner));
    return family.of(this.#owner);
  }

  gauge(
    name: string,
    help: string,
    read: () => GaugeReading,
    labelNames: readonly string[] = [],
  ): void {
    const family = this.#names.gauge(name, help, labelNames);
    this.#drops.set(name, () => family.drop(this.#owner));
    family.read(this.#owner, read);
  }

  /** Takes all of this actor's figures off the page. For the end of its life. */
  drop(): void {
    for (const drop of this.#drops.values()) drop();
    this.#drops.clear();
  }
}
