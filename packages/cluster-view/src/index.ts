export { CatalogFollower } from "./catalog-follower.ts";
export type { ClusterView, ModelView, WorkerView } from "./cluster-view.ts";
export { type ClusterViewOptions, createClusterView } from "./create-cluster-view.ts";
export { describeModel } from "./describe-model.ts";
export { type Contender, ElderWatch, yieldsTo } from "./elder.ts";
export {
  createKvFeedFollower,
  type KvFeedFollower,
  type KvFeedFollowerOptions,
} from "./kv-feed/create-kv-feed-follower.ts";
export { KvFeedFigures } from "./kv-feed/kv-feed-figures.ts";
