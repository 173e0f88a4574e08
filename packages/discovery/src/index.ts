export { discovery } from "./actor.ts";
export { type DiscoveryConfig, discoveryOptions } from "./config.ts";
