import {
  type BookingsOptions,
  createFlatIndex,
  createRoutingCore,
  createSelector,
  defaultLoadTracking,
  type RouterMode,
  type RoutingCore,
} from "@baton/kv-router";
import type { Stage } from "./stage-router.ts";

/** In a replay nobody reports what lives, and nothing is lost: bookings stay until they are released. */
export const unlimitedBookings: BookingsOptions = {
  limit: Number.MAX_SAFE_INTEGER,
  graceMs: Number.POSITIVE_INFINITY,
  staleMs: Number.POSITIVE_INFINITY,
};

/** A way to route, with its parameters by name; what is absent has its default. */
export interface StagePolicy {
  readonly policy: RouterMode;
  readonly parameters: Readonly<Record<string, number>>;
}

/**
 * The core of a stage's router, as the routers make it: a prefill stage counts no active blocks, and a decode stage after a
 * prefill looks at no cache. Throws RangeError that names a wrong parameter.
 */
export function createStageCore(stage: Stage, { policy, parameters }: StagePolicy): RoutingCore {
  const tracking = { ...defaultLoadTracking, trackActiveBlocks: stage !== "prefill" };
  const selector = createSelector({ mode: policy, parameters, tracking });
  const looksAtCaches = selector.usesCacheData && stage !== "decode";
  return createRoutingCore({
    selector,
    bookings: unlimitedBookings,
    tracking,
    ...(looksAtCaches && { index: createFlatIndex() }),
  });
}
