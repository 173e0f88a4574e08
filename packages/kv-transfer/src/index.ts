export { compareDescriptors, differingField, type KvDescriptor } from "./compare-descriptors.ts";
export {
  defaultLeaseMs,
  defaultMaxBytesHeld,
  type HandoffFacts,
  HandoffLedger,
  type HandoffLedgerDeps,
  type HandoffLedgerOptions,
} from "./handoff-ledger.ts";
export { type HandoffEnd, type HandoffPhase, nextHandoffPhases } from "./handoff-phase.ts";
export type {
  HandoffDesk,
  KvMover,
  KvSource,
  PartId,
  Pull,
  PullFailure,
  PullGrant,
  PullRefusal,
  PullRequest,
} from "./kv-mover.ts";
export {
  createKvTransferMetrics,
  type HandoffOutcome,
  type KvTransferMetrics,
  type PullRefusedReason,
} from "./kv-transfer-metrics.ts";
export {
  MemoryKvExchange,
  MemoryKvMover,
  type MemoryKvMoverDeps,
  type MemoryKvMoverOptions,
} from "./memory/memory-kv-mover.ts";
export { TcpKvMover, type TcpKvMoverDeps, type TcpKvMoverOptions } from "./tcp/tcp-kv-mover.ts";
export { defaultTransferLimits, type TransferLimits } from "./tcp/transfer-limits.ts";
