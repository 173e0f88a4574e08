import { ServingError } from "@baton/protocol";
import type { Registry } from "prom-client";
import { CounterFamily, GaugeFamily, HistogramFamily } from "./metric-families.ts";

type Family = CounterFamily | GaugeFamily | HistogramFamily;

/** The metrics of a process by name. Asking again for a name must repeat help, kind, labels and buckets. */
export class MetricNames {
  readonly #registry: Registry;
  readonly #families = new Map<string, { readonly declared: string; readonly family: Family }>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  counter(name: string, help: string, labelNames: readonly string[]): CounterFamily {
    const declared = JSON.stringify(["counter", help, labelNames]);
    return this.#get(
      name,
      declared,
      () => new CounterFamily(name, help, labelNames, this.#registry),
    );
  }

  gauge(name: string, help: string, labelNames: readonly string[]): GaugeFamily {
    const declared = JSON.stringify(["gauge", help, labelNames]);
    return this.#get(name, declared, () => new GaugeFamily(name, help, labelNames, this.#registry));
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[],
  ): HistogramFamily {
    const declared = JSON.stringify(["histogram", help, labelNames, buckets]);
    const make = () => new HistogramFamily(name, help, buckets, labelNames, this.#registry);
    return this.#get(name, declared, make);
  }

  #get<F extends Family>(name: string, declared: string, make: () => F): F {
    const known = this.#families.get(name);
    if (known === undefined) {
      const family = make();
      this.#families.set(name, { declared, family });
      return family;
    }
    if (known.declared !== declared) {
      throw new ServingError("internal", {
        problem: `metric ${name} is declared twice: ${known.declared} and ${declared}`,
      });
    }
    return known.family as F;
  }
}
