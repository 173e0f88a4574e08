export { ContainerCluster } from "./container-cluster.ts";
export { Load, type SeenAnswer } from "./load.ts";
