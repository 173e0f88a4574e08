import type { Registry } from "prom-client";
import {
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
} from "prom-client";
import type { Counter, Histogram } from "./metrics.ts";

/** The labels that say whose a figure is. */
export interface Owner {
  readonly actor: string;
  readonly id: string;
}

type Labels = Readonly<Record<string, string>>;
/** What a gauge's reader answers: one value, or one per set of labels. */
export type GaugeReading = number | readonly (readonly [labels: Labels, value: number])[];

const noLabels: Labels = {};

interface Cell {
  readonly labels: Labels;
  value: number;
}

/** One actor's share of a counter. Adding is an addition; Prometheus's own record is brought up to date when read. */
class OwnedCounter implements Counter {
  readonly cells = new Map<string, Cell>();
  readonly #owner: Owner;
  readonly #labelNames: readonly string[];
  readonly #plain: Cell | null = null;

  constructor(owner: Owner, labelNames: readonly string[]) {
    this.#owner = owner;
    this.#labelNames = labelNames;
    if (labelNames.length === 0) this.#plain = this.#cell("", noLabels);
  }

  add(amount = 1, labels: Labels = noLabels): void {
    if (this.#plain !== null) {
      this.#plain.value += amount;
      return;
    }
    const key = this.#labelNames.map((name) => labels[name] ?? "").join("\u0000");
    const cell = this.cells.get(key) ?? this.#cell(key, labels);
    cell.value += amount;
  }

  #cell(key: string, labels: Labels): Cell {
    const cell = { labels: ownLabels(this.#owner, this.#labelNames, labels), value: 0 };
    this.cells.set(key, cell);
    return cell;
  }
}

/** A counter of many actors. */
export class CounterFamily {
  readonly #labelNames: readonly string[];
  readonly #shares = new Map<string, OwnedCounter>();

  constructor(name: string, help: string, labelNames: readonly string[], registry: Registry) {
    this.#labelNames = labelNames;
    const shares = this.#shares;
    new PromCounter({
      name,
      help,
      labelNames: ["actor", "id", ...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        for (const share of shares.values()) {
          for (const cell of share.cells.values()) this.inc(cell.labels, cell.value);
        }
      },
    });
  }

  of(owner: Owner): Counter {
    const key = ownerKey(owner);
    const known = this.#shares.get(key);
    if (known !== undefined) return known;
    const share = new OwnedCounter(owner, this.#labelNames);
    this.#shares.set(key, share);
    return share;
  }

  drop(owner: Owner): void {
    this.#shares.delete(ownerKey(owner));
  }
}

/** A gauge of many actors, read when somebody asks. */
export class GaugeFamily {
  readonly #readers = new Map<
    string,
    { readonly owner: Owner; readonly read: () => GaugeReading }
  >();

  constructor(name: string, help: string, labelNames: readonly string[], registry: Registry) {
    const readers = this.#readers;
    new PromGauge({
      name,
      help,
      labelNames: ["actor", "id", ...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        for (const { owner, read } of readers.values()) {
          const reading = read();
          const rows = typeof reading === "number" ? [[noLabels, reading] as const] : reading;
          for (const [labels, value] of rows) {
            this.set(ownLabels(owner, labelNames, labels), value);
          }
        }
      },
    });
  }

  read(owner: Owner, read: () => GaugeReading): void {
    this.#readers.set(ownerKey(owner), { owner, read });
  }

  drop(owner: Owner): void {
    this.#readers.delete(ownerKey(owner));
  }
}

/** A distribution of many actors. */
export class HistogramFamily {
  readonly #histogram: PromHistogram;
  readonly #labelNames: readonly string[];
  readonly #seen = new Map<string, Map<string, Labels>>();

  constructor(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[],
    registry: Registry,
  ) {
    this.#labelNames = labelNames;
    this.#histogram = new PromHistogram({
      name,
      help,
      buckets: [...buckets],
      labelNames: ["actor", "id", ...labelNames],
      registers: [registry],
    });
  }

  of(owner: Owner): Histogram {
    const key = ownerKey(owner);
    const seen = this.#seen.get(key) ?? new Map<string, Labels>();
    this.#seen.set(key, seen);
    return {
      observe: (value, labels = noLabels) => {
        const labelKey = this.#labelNames.map((name) => labels[name] ?? "").join("\u0000");
        let own = seen.get(labelKey);
        if (own === undefined) {
          own = ownLabels(owner, this.#labelNames, labels);
          seen.set(labelKey, own);
        }
        this.#histogram.observe(own, value);
      },
    };
  }

  drop(owner: Owner): void {
    const key = ownerKey(owner);
    for (const labels of this.#seen.get(key)?.values() ?? []) this.#histogram.remove(labels);
    this.#seen.delete(key);
  }
}

function ownerKey(owner: Owner): string {
  return `${owner.actor}\u0000${owner.id}`;
}

function ownLabels(owner: Owner, labelNames: readonly string[], labels: Labels): Labels {
  const own: Record<string, string> = { actor: owner.actor, id: owner.id };
  for (const name of labelNames) own[name] = labels[name] ?? "";
  return own;
}
