import type { ElderWatch } from "@baton/cluster-view";
import type { ActorContext, PeerWatch } from "@baton/runtime";
import type { CatalogPublisher } from "./catalog-publisher.ts";
import type { DiscoveryMetrics } from "./metrics.ts";
import type { Registry } from "./registry/registry.ts";

/** What the handlers of Discovery read and write. */
export interface DiscoveryState {
  readonly context: ActorContext;
  readonly registry: Registry;
  readonly publisher: CatalogPublisher;
  readonly metrics: DiscoveryMetrics;
  readonly workers: PeerWatch;
  readonly elders: ElderWatch;
  /** Workers were heard, lost or listed: the catalog and its machine look again. */
  changed(): void;
}
