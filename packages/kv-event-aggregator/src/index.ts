export { kvEventAggregator } from "./actor.ts";
export { type KvEventAggregatorConfig, kvEventAggregatorOptions } from "./config.ts";
