import type { RoutingCore, RoutingCoreOptions } from "@baton/kv-router";
import {
  createFlatIndex,
  createPredictedIndex,
  createRoutingCore,
  createSelector,
} from "@baton/kv-router";
import { unlimitedBookings } from "@baton/replay";
import {
  createStagePolicy,
  type LoadedPolicy,
  type PolicyStage,
  type StagePolicy,
} from "@baton/routing";

/** The core of a replay's stage, as a router with this policy file makes it. */
export function coreOfStage(stage: PolicyStage, { policy, modules }: LoadedPolicy): RoutingCore {
  const own = policy.stages[stage];
  const { cache, prefillDuration, thresholds, tracking } = own;
  const selector = createSelector(createStagePolicy(own, modules));
  // After a prefill elsewhere nothing that a decode worker holds is a reason to choose it.
  const looksAtCaches = selector.usesCacheData && stage !== "decode";
  return createRoutingCore({
    selector,
    bookings: unlimitedBookings,
    tracking,
    thresholds,
    prefillDuration,
    ...(looksAtCaches && cache.useKvEvents && { index: createFlatIndex() }),
    ...(looksAtCaches && predictionOf(cache)),
  });
}

/** With events, what bridges the time to them if that is wanted; without, all that is known. */
function predictionOf(cache: StagePolicy["cache"]): Pick<RoutingCoreOptions, "predicted"> {
  const { approximateCachePolicy, predictedTtlMs, useKvEvents } = cache;
  if (!useKvEvents && approximateCachePolicy === "lru") {
    return { predicted: (blocksOf) => createPredictedIndex({ policy: "lru", blocksOf }) };
  }
  const ttlMs = useKvEvents ? predictedTtlMs : cache.ttlMs;
  return ttlMs === null ? {} : { predicted: () => createPredictedIndex({ policy: "ttl", ttlMs }) };
}
