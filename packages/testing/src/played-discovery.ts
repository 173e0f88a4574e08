import { Catalog, type CatalogWorker } from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import { catalog } from "./builders.ts";
import type { MemoryCluster } from "./memory-cluster.ts";

/** A Discovery, `disc`, that lists what the test wants, and answers with it. Its first catalog is empty, of revision 0. */
export class PlayedDiscovery {
  readonly #bus: Bus;
  readonly #cluster: MemoryCluster;
  #catalog: Catalog = catalog([], { revision: 0 });

  constructor(cluster: MemoryCluster) {
    this.#cluster = cluster;
    this.#bus = cluster.bus("disc");
    this.#bus.subscribe(cluster.subjects.getCatalog(), (message) =>
      message.respond(Catalog.encode(this.#catalog)),
    );
  }

  get revision(): number {
    return this.#catalog.revision;
  }

  get workers(): readonly CatalogWorker[] {
    return this.#catalog.workers;
  }

  /** Publishes a catalog of these workers and no others. */
  list(workers: readonly CatalogWorker[]): void {
    this.#catalog = catalog(workers, { revision: this.revision + 1 });
    this.#bus.publish(this.#cluster.subjects.catalogPublished(), Catalog.encode(this.#catalog));
  }
}
