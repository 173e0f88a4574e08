export {
  type AffinityMode,
  affinityModes,
  applySession,
  type SessionRule,
} from "./affinity/apply-session.ts";
export { createSessionTable } from "./affinity/create-session-table.ts";
export { sessionKey } from "./affinity/session-key.ts";
export type {
  Asked,
  BindingVersion,
  HeardBinding,
  HoldEnd,
  SessionBinding,
  SessionTable,
  SessionTableOptions,
  SessionTarget,
} from "./affinity/session-table.ts";
export type { BookingEntry, BookingsOptions, LiveBooking } from "./bookings/bookings.ts";
export { createRoutingCore, type RoutingCoreOptions } from "./core/create-routing-core.ts";
export type {
  CoreBooking,
  CoreRequest,
  Narrow,
  RoutableWorker,
  RoutingCore,
  WorkerLoad,
} from "./core/routing-core.ts";
export { type Batch, BatchBuffer } from "./feed/batch-buffer.ts";
export {
  defaultFeedApplierOptions,
  FeedApplier,
  type FeedApplierDeps,
  type FeedApplierOptions,
  type FeedAsk,
} from "./feed/feed-applier.ts";
export type { FeedCounts } from "./feed/feed-counts.ts";
export {
  type BlockHasher,
  type BlockHasherInstance,
  blockHasherWasm,
  createBlockHasher,
  createBlockHasherFromModule,
  hashBytes,
} from "./hashing/block-hasher.ts";
export { joinHashSalts } from "./hashing/hash-salt.ts";
export { baseHashSeed, type HashScope, type HashSeed, hashSeedFrom } from "./hashing/hash-seed.ts";
export type { ActiveLoad, ActiveRequest } from "./load/active-load.ts";
export { createActiveLoad } from "./load/create-active-load.ts";
export {
  defaultPrefillDuration,
  noPrefillDuration,
  type PrefillDurationModel,
} from "./load/prefill-duration.ts";
export { createFlatIndex, type FlatIndexOptions } from "./prefix-index/flat-index.ts";
export {
  createPredictedIndex,
  type PredictedIndex,
  type PredictedIndexOptions,
} from "./prefix-index/predicted-index.ts";
export {
  createOverlaps,
  type IndexJob,
  type Overlaps,
  type PrefixIndex,
  type RankLoad,
  type RankSlot,
  type StorageTier,
  type Stored,
  storageTiers,
} from "./prefix-index/prefix-index.ts";
export { createRadixTree } from "./prefix-index/radix-tree.ts";
export { type RankKey, RankSlots } from "./prefix-index/rank-slots.ts";
export { createFcfsQueue, type FcfsQueueOptions } from "./queue/fcfs-queue.ts";
export type {
  Enqueued,
  QueueCounters,
  QueuedRequest,
  RequestQueue,
} from "./queue/request-queue.ts";
export { type ActivationTarget, activationTarget, type TargetKey } from "./readiness/activation.ts";
export { type ModelReadiness, modelReadiness } from "./readiness/model-readiness.ts";
export {
  type ServingMode,
  type ServingOutcome,
  servingMode,
} from "./readiness/serving-mode.ts";
export {
  gatherWorkerSets,
  type WorkerNeeds,
  type WorkerSetFacts,
} from "./readiness/worker-sets.ts";
export type { PolicySpec } from "./selection/create-policy.ts";
export { createSelector } from "./selection/create-selector.ts";
export type { Busyness, Exclusion, Ineligibility } from "./selection/eligibility.ts";
export type { IgnoredField } from "./selection/ignored-fields.ts";
export {
  type BusyThresholds,
  defaultKvCostOptions,
  defaultLoadTracking,
  type KvCostOptions,
  type LoadTrackingOptions,
  noBusyThresholds,
} from "./selection/policy-options.ts";
export {
  checkPolicyParameters,
  type ParameterFault,
  type PolicyParameter,
  policyParameters,
} from "./selection/policy-parameters.ts";
export {
  type ParsedRouterMode,
  parseRouterMode,
  type RouterMode,
  routerModes,
} from "./selection/router-mode.ts";
export {
  checkRouterOverrides,
  decodeOverrides,
  mergeDecodeOverrides,
} from "./selection/router-overrides.ts";
export type {
  CandidateFilter,
  Choice,
  CreatePolicy,
  Picker,
  RequestField,
  Scorer,
  SelectionPolicy,
  TierWeights,
} from "./selection/selection-policy.ts";
export { selectionRules } from "./selection/selection-rules.ts";
export type { PinFault, WorkerPin } from "./selection/worker-pin.ts";
export type {
  CandidateCost,
  CandidateExplanation,
  NoneReason,
  Selection,
  SelectionDetail,
  SelectionExplanation,
  SelectionRequest,
  WorkerCandidate,
  WorkerSelector,
} from "./selection/worker-selector.ts";
export { checkDecodeReach, type DecodeReach } from "./topology/decode-reach.ts";
export { mergeConstraints } from "./topology/merge-constraints.ts";
export { satisfies, topologyTaint, workerTaints } from "./topology/taints.ts";
export {
  deriveTransferConstraints,
  type TransferConstraints,
  type TransferFacts,
  type TransferFault,
} from "./topology/transfer-constraints.ts";
