import type { HandoffLedger, KvMover, KvTransferMetrics } from "@baton/kv-transfer";
import type { ModelName, RequestId, ServingError } from "@baton/protocol";
import type { ActorContext, RecentIds } from "@baton/runtime";
import type { WorkerConfig } from "./config.ts";
import type { Engine, EngineCard } from "./engine.ts";
import type { FactSender } from "./fact-sender.ts";
import type { FramePublisher } from "./frame-publisher.ts";
import type { FrontendLeases } from "./frontend-leases.ts";
import type { KvEventPublisher } from "./kv-event-publisher.ts";
import type { LoadReporter } from "./load-reporter.ts";
import type { WorkerCounters } from "./metrics.ts";
import type { Publisher } from "./publisher.ts";
import type { RequestTable } from "./request-table.ts";

/** Whether new work is taken, and why not. Written by the machine alone. */
export type Intake = "closed" | "open" | "draining" | "engine-lost";

/** What the handlers of one worker read and write. */
export interface WorkerState {
  readonly config: WorkerConfig;
  readonly context: ActorContext;
  readonly model: ModelName;
  readonly engine: Engine;
  readonly card: EngineCard;
  readonly mover: KvMover;
  readonly ledger: HandoffLedger;
  readonly requests: RequestTable;
  readonly cancelled: RecentIds<RequestId>;
  readonly frontends: FrontendLeases;
  readonly publisher: Publisher;
  readonly facts: FactSender;
  readonly frames: FramePublisher;
  readonly kvEvents: KvEventPublisher;
  readonly load: LoadReporter;
  readonly counters: WorkerCounters;
  readonly transferCounters: KvTransferMetrics;
  /** The process's, and one more for each restart of the engine. */
  generation: number;
  intake: Intake;
  /** What the engine died of, while it is gone. */
  engineError: ServingError | null;
}
