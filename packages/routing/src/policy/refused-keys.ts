/** A key of the policy file, as a path of names and numbers. */
export type KeyPath = readonly (string | number)[];

interface RefusedKey {
  /** Matches the whole path as text, e.g. `router.serve_indexer`. */
  readonly path: RegExp;
  readonly reason: string;
}

const laterIssue = "admission queues and their classes are not built yet";
const indexer = "every router follows the KV feed and keeps an index of its own";
const sharedCache = "there is no cache that all workers share";

/** Keys that readers of Dynamo's documentation may write, and that have no place here. */
const refusedKeys: readonly RefusedKey[] = [
  {
    path: /^(default_policy_family|policy_classes|uncached_isl_buckets|models)$/,
    reason: laterIssue,
  },
  { path: /^(router\.)?(router_)?queue_(threshold|policy)$/, reason: laterIssue },
  { path: /^request_classifier$/, reason: "the admission hook is not built yet" },
  {
    path: /^(router\.)?(router_)?conditional_disagg\w*$/,
    reason: "conditional disaggregation is not built yet",
  },
  { path: /^router\.(use_remote_indexer|serve_indexer)$/, reason: indexer },
  { path: /^router\.router_event_threads$/, reason: "a router applies KV events on one thread" },
  {
    path: /^router\.router_replica_sync$/,
    reason: "it is always on: every router hears every booking",
  },
  {
    path: /^router\.router_tracking_\w+$/,
    reason: "bookings carry the prompt's own sequence hashes",
  },
  { path: /^router\.enable_session_prefix_index$/, reason: "it has no effect anywhere" },
  { path: /^router\.shared_cache_type$/, reason: sharedCache },
  { path: /^(.*\.)?shared_cache_multiplier$/, reason: sharedCache },
  { path: /^(.*\.)?overlap_score_weight$/, reason: "say prefill_load_scale instead" },
  {
    path: /^worker_selection\.instances\[\d+\]\.parameters\.(host|disk)_cache_hit_weight$/,
    reason: "it stands under router, for all instances",
  },
  { path: /^worker_selection\.encode$/, reason: "there are no encode workers" },
];

/** Why a key is refused; undefined if it is not one of those that are refused by name. */
export function refusalOfKey(path: KeyPath): string | undefined {
  const text = pathText(path);
  return refusedKeys.find((refused) => refused.path.test(text))?.reason;
}

/** `worker_selection.instances[0].type`. */
export function pathText(path: KeyPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}
