import {
  defaultLoadTracking,
  defaultPrefillDuration,
  type LoadTrackingOptions,
  noPrefillDuration,
  type PrefillDurationModel,
} from "@baton/kv-router";
import type { PolicyFile } from "./parse-policy-file.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { fileKeys, PolicySettings } from "./policy-settings.ts";
import {
  type CachePolicy,
  defaultCachePolicy,
  type PolicyStage,
  type RouterPolicy,
  type StagePolicy,
  trackingOf,
} from "./router-policy.ts";
import { stageSelections } from "./stage-selections.ts";

/**
 * What flags and policy file come to. Each setting has one place: throws `config_invalid` that names both where a flag and
 * the file set the same, where a flag has no effect, and where settings contradict each other, with file and line.
 */
export function resolvePolicy(flags: PolicyFlags, file: PolicyFile | null): RouterPolicy {
  const settings = new PolicySettings(flags, file);
  const selections = stageSelections(settings);
  const tracking = trackingIn(settings);
  const cache = cacheIn(settings);
  const affinityMode = flags.sessionAffinityMode ?? settings.content.session_affinity?.mode;
  const shared = {
    prefillDuration: prefillDurationIn(settings, tracking),
    thresholds: thresholdsIn(settings),
    cache,
    affinity: affinityIn(settings, affinityMode ?? "hard"),
  };
  settings.throwProblems();
  const stage = (name: PolicyStage): StagePolicy => ({
    selection: selections[name],
    tracking: trackingOf(name, tracking),
    ...shared,
  });
  return {
    stages: {
      aggregated: stage("aggregated"),
      prefill: stage("prefill"),
      decode: stage("decode"),
    },
    affinityMode: affinityMode ?? "hard",
    minInitialWorkers:
      flags.minInitialWorkers ?? settings.content.router?.router_min_initial_workers ?? 0,
  };
}

function trackingIn(settings: PolicySettings): LoadTrackingOptions {
  const { flags, content } = settings;
  const { router = {} } = content;
  const tracking = {
    trackActiveBlocks: router.router_track_active_blocks ?? defaultLoadTracking.trackActiveBlocks,
    assumeKvReuse: router.router_assume_kv_reuse ?? defaultLoadTracking.assumeKvReuse,
    trackOutputBlocks:
      flags.trackOutputBlocks ??
      router.router_track_output_blocks ??
      defaultLoadTracking.trackOutputBlocks,
    trackPrefillTokens:
      router.router_track_prefill_tokens ?? defaultLoadTracking.trackPrefillTokens,
  };
  if (tracking.trackOutputBlocks && !tracking.trackActiveBlocks) {
    const off = settings.where(["router", "router_track_active_blocks"]);
    settings.problem(
      `${settings.where(fileKeys.trackOutputBlocks)}: blocks of the output count among the active ones, which are off by ${off}`,
    );
  }
  return tracking;
}

function prefillDurationIn(
  settings: PolicySettings,
  { trackPrefillTokens }: LoadTrackingOptions,
): PrefillDurationModel {
  const { router = {} } = settings.content;
  const isModelled = router.router_prefill_load_model === "polynomial";
  const coefficients = router.router_prefill_load_polynomial;
  if (isModelled && !trackPrefillTokens) {
    const off = settings.where(["router", "router_track_prefill_tokens"]);
    settings.problem(
      `${settings.where(["router", "router_prefill_load_model"])}: there is nothing to model, since prompt tokens are off by ${off}`,
    );
  }
  if (coefficients !== undefined && !isModelled) {
    settings.problem(
      `${settings.where(["router", "router_prefill_load_polynomial"])}: needs router_prefill_load_model polynomial`,
    );
  }
  if (!isModelled) return noPrefillDuration;
  return coefficients === undefined
    ? defaultPrefillDuration
    : { kind: "polynomial", ...coefficients };
}

function cacheIn(settings: PolicySettings): CachePolicy {
  const { flags, content } = settings;
  const { router = {} } = content;
  const secs = flags.ttlSecs ?? router.router_ttl_secs;
  const predictedSecs = flags.predictedTtlSecs ?? router.router_predicted_ttl_secs ?? null;
  const cache = {
    useKvEvents: flags.useKvEvents ?? router.use_kv_events ?? defaultCachePolicy.useKvEvents,
    approximateCachePolicy:
      flags.approximateCachePolicy ??
      router.router_approximate_cache_policy ??
      defaultCachePolicy.approximateCachePolicy,
    ttlMs: secs === undefined ? defaultCachePolicy.ttlMs : secs * 1_000,
    predictedTtlMs: predictedSecs === null ? null : predictedSecs * 1_000,
  };
  const events = settings.where(fileKeys.useKvEvents);
  if (cache.predictedTtlMs !== null && !cache.useKvEvents) {
    settings.problem(
      `${settings.where(fileKeys.predictedTtlSecs)}: bridges the time to a KV event, and those are off by ${events}`,
    );
  }
  if (cache.approximateCachePolicy === "lru" && cache.useKvEvents) {
    settings.problem(
      `${settings.where(fileKeys.approximateCachePolicy)}: lru is for routing without KV events, and those are on by ${events}`,
    );
  }
  return cache;
}

function thresholdsIn({ flags, content }: PolicySettings): StagePolicy["thresholds"] {
  const { busy_thresholds: busy = {} } = content;
  return {
    activeDecodeBlocksThreshold:
      flags.activeDecodeBlocksThreshold ?? busy.active_decode_blocks_threshold ?? null,
    activePrefillTokensThreshold:
      flags.activePrefillTokensThreshold ?? busy.active_prefill_tokens_threshold ?? null,
    activePrefillTokensThresholdFrac:
      flags.activePrefillTokensThresholdFrac ?? busy.active_prefill_tokens_threshold_frac ?? null,
  };
}

function affinityIn(
  { flags, content }: PolicySettings,
  mode: RouterPolicy["affinityMode"],
): StagePolicy["affinity"] {
  const secs = flags.sessionAffinityTtlSecs ?? content.session_affinity?.ttl_secs ?? null;
  return secs === null ? null : { ttlMs: secs * 1_000, mode };
}
