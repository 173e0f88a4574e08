import { describeModel } from "@baton/cluster-view";
import type { Catalog } from "@baton/protocol";
import type { Registry } from "./registry.ts";
import { toCatalogWorker } from "./registry-entry.ts";

/** All that a registry knows, as followers read it. */
export function toCatalog(
  registry: Registry,
  mark: Pick<Catalog, "namespace" | "epoch" | "revision" | "complete">,
): Catalog {
  const models = [...registry.models()].map(([model, workers]) =>
    describeModel(model, [...workers].map(toCatalogWorker)),
  );
  return { ...mark, workers: [...registry.entries()].map(toCatalogWorker), models };
}
