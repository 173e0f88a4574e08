import { collectDefaultMetrics, Registry } from "prom-client";
import { ActorMetrics } from "./actor-metrics.ts";
import { MetricNames } from "./metric-names.ts";

/** What every actor of a process measures, in one place. */
export interface MetricsRegistry {
  /** Where one actor puts its figures. */
  forActor(role: string, id: string): ActorMetrics;
  /** All figures in the text format of Prometheus. */
  text(): Promise<string>;
  /** The content type of `text()`. */
  readonly contentType: string;
}

/** What a registry may hold besides the actors' figures. */
export interface MetricsRegistryOptions {
  /** Adds the figures of the Node process, with this value in their label `process`. */
  readonly processLabel?: string;
}

/** Makes the registry of a process. Nothing is shared with other registries. */
export function createMetricsRegistry(options: MetricsRegistryOptions = {}): MetricsRegistry {
  const registry = new Registry();
  if (options.processLabel !== undefined) {
    collectDefaultMetrics({ register: registry, labels: { process: options.processLabel } });
  }
  const names = new MetricNames(registry);
  return {
    forActor: (role, id) => new ActorMetrics({ actor: role, id }, names),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
