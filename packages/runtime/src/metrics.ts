/** A counter, bound to its actor. */
export interface Counter {
  add(amount?: number, labels?: Readonly<Record<string, string>>): void;
}

/** A distribution, bound to its actor. */
export interface Histogram {
  observe(value: number, labels?: Readonly<Record<string, string>>): void;
}

/**
 * Where an actor puts its figures. Each gets the labels `actor` and `id` by itself. A name may be asked for by many
 * actors of a process; help, kind and label names must then agree.
 */
export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames?: readonly string[],
  ): Histogram;
  /** A figure that is read when somebody asks. One value, or one per set of labels. */
  gauge(
    name: string,
    help: string,
    read: () =>
      | number
      | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[],
    labelNames?: readonly string[],
  ): void;
}
