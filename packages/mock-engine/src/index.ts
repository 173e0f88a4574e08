export type { BlockHasher, HashSeed } from "./block-hasher.ts";
export { BlockPool, type BlockPoolOptions, noBlock } from "./block-pool.ts";
export { type EngineDeps, MockEngine } from "./engine.ts";
export type { EngineOptions, ResolvedEngineOptions } from "./engine-options.ts";
export type {
  AddOutcome,
  EndRules,
  EngineRequest,
  OutputPlan,
  PromptHashes,
  Rejected,
  RejectionReason,
  RequestKind,
} from "./engine-request.ts";
export type { FinishReason } from "./finish-reason.ts";
export type {
  AddPrefilledOutcome,
  ArrivalOutcome,
  HandoffReservation,
  ImportOutcome,
} from "./handoff.ts";
export { HashChain } from "./hash-chain.ts";
export { hashIntegers, hashToUnit } from "./integer-hash.ts";
export type { ClearedKvEvent, KvEvent, RemovedKvEvent, StoredKvEvent } from "./kv-event.ts";
export {
  type MockLogprob,
  type MockLogprobQuery,
  type MockLogprobs,
  mockLogprobOf,
  mockLogprobs,
} from "./mock-logprobs.ts";
export { greedySampling, type MockSampling, mockText } from "./mock-text.ts";
export type { EngineLoad, Pass, PassResult, PrefillDone } from "./pass.ts";
export { SteeredPlan, type Steering } from "./steered-plan.ts";
export { noToken, type StepOutputs } from "./step-outputs.ts";
export { TextPlan, type TextPlanOptions } from "./text-plan.ts";
export {
  type DecodeBatch,
  type FixedTimes,
  fixedTiming,
  type PrefillBatch,
  polynomialTiming,
  type SpeedUp,
  type TimingModel,
} from "./timing-model.ts";
export { type KvShape, kvBytesPerToken, transferMs } from "./transfer-time.ts";
