import type { ClusterView, ElderWatch } from "@baton/cluster-view";
import type { ModelName } from "@baton/protocol";
import type { ActorContext } from "@baton/runtime";
import type { KvEventAggregatorConfig } from "./config.ts";
import type { HistoryDesk } from "./history-desk.ts";
import type { AggregatorMetrics } from "./metrics.ts";
import type { ModelFeed } from "./model-feed.ts";
import type { SourceTable } from "./source/source-table.ts";

/** What the handlers of a KvEventAggregator read and write. */
export interface AggregatorState {
  readonly context: ActorContext;
  readonly config: KvEventAggregatorConfig;
  readonly view: ClusterView;
  readonly table: SourceTable;
  readonly desk: HistoryDesk;
  readonly metrics: AggregatorMetrics;
  readonly elders: ElderWatch;
  /** A model's feed, made when it is first needed. */
  feed(model: ModelName): ModelFeed;
  /** The epoch of its feeds: a new one each time that it begins to speak. */
  epoch: number;
  /** Asks of followers that wait for workers. */
  asks: number;
}

/** Whether this aggregator gathers a model's events. */
export function serves(config: KvEventAggregatorConfig, model: string): boolean {
  return config.model === undefined || config.model === model;
}
