import type { Counter, Metrics } from "@baton/runtime";
import type { Registry, RegistryCounts } from "./registry/registry.ts";

/** The figures of Discovery. */
export interface DiscoveryMetrics {
  readonly registrations: Counter;
  readonly catalogs: Counter;
  readonly malformed: Counter;
  /** Adds what the registry has counted since the last call. */
  syncCounts(): void;
}

/** Declares the figures of Discovery. */
export function discoveryMetrics(metrics: Metrics, registry: Registry): DiscoveryMetrics {
  const changes = metrics.counter(
    "baton_discovery_workers_changed_total",
    "Workers that were lost, came back after it, or were forgotten.",
    ["change"],
  );
  metrics.gauge(
    "baton_discovery_workers",
    "Workers in the catalog, by state.",
    () => countStates(registry),
    ["state"],
  );
  const seen: RegistryCounts = { lost: 0, returned: 0, forgotten: 0 };
  return {
    registrations: metrics.counter(
      "baton_discovery_registrations_total",
      "Registrations: accepted, refused for their card, or rejected outright.",
      ["outcome"],
    ),
    catalogs: metrics.counter("baton_discovery_catalogs_published_total", "Catalogs published."),
    malformed: metrics.counter(
      "baton_discovery_malformed_messages_total",
      "Messages that could not be decoded.",
    ),
    syncCounts: () => {
      for (const change of ["lost", "returned", "forgotten"] as const) {
        const amount = registry.counts[change] - seen[change];
        if (amount > 0) changes.add(amount, { change });
        seen[change] = registry.counts[change];
      }
    },
  };
}

function countStates(
  registry: Registry,
): readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[] {
  const counts = { live: 0, draining: 0, lost: 0, refused: 0 };
  for (const { state } of registry.entries()) counts[state] += 1;
  return Object.entries(counts).map(([state, value]) => [{ state }, value] as const);
}
