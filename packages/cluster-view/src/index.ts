export { CatalogFollower, type CatalogMark } from "./catalog-follower.ts";
export { ClusterPicture, type PictureListener } from "./cluster-picture.ts";
export type { ClusterView, ModelView, WorkerView } from "./cluster-view.ts";
export { describeModel } from "./describe-model.ts";
export { type Contender, ElderWatch, yieldsTo } from "./elder.ts";
