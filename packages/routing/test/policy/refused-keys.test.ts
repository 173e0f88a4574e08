import { expect, it } from "vitest";
import { pathText, refusalOfKey } from "../../src/policy/refused-keys.ts";

it("writes a path as people do", () => {
  expect(pathText(["worker_selection", "instances", 1, "parameters", "x"])).toBe(
    "worker_selection.instances[1].parameters.x",
  );
  expect(pathText([])).toBe("");
});

it.each([
  "default_policy_family",
  "policy_classes",
  "uncached_isl_buckets",
  "models",
  "request_classifier",
  "conditional_disagg",
  "conditional_disagg_config",
  "router.router_conditional_disagg",
  "router.router_queue_threshold",
])("refuses %s as not built yet", (path) => {
  expect(refusalOfKey(path.split("."))).toContain("not built yet");
});

it.each([
  "router.use_remote_indexer",
  "router.serve_indexer",
  "router.router_event_threads",
  "router.router_replica_sync",
  "router.router_tracking_hash",
  "router.enable_session_prefix_index",
  "router.shared_cache_type",
  "worker_selection.encode",
])("refuses %s with a reason of its own", (path) => {
  expect(refusalOfKey(path.split("."))).not.toContain("not built yet");
});

it("refuses parameters that stand elsewhere or nowhere", () => {
  const parameter = (name: string) => ["worker_selection", "instances", 12, "parameters", name];

  expect(refusalOfKey(parameter("host_cache_hit_weight"))).toContain("router");
  expect(refusalOfKey(parameter("shared_cache_multiplier"))).toBeDefined();
  expect(refusalOfKey(parameter("overlap_score_weight"))).toContain("prefill_load_scale");
});

it("has nothing against other keys", () => {
  expect(refusalOfKey(["router", "use_kv_events"])).toBeUndefined();
  expect(refusalOfKey(["router", "models"])).toBeUndefined();
});
