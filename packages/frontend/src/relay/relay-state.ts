import type { ClusterView } from "@baton/cluster-view";
import type { Subjects } from "@baton/protocol";
import type { Bus, Clock } from "@baton/runtime";
import type { Logger } from "pino";
import type { FrontendMetrics } from "../metrics.ts";
import type { PrepareRequest } from "../prepare/prepare-request.ts";
import type { StateDeadlines } from "../request/deadlines.ts";
import type { TransitionLog } from "../request/transition-log.ts";
import type { Cleanup } from "./cleanup.ts";
import type { FrameIntake } from "./frame-intake.ts";
import type { ModelDirectory } from "./model-directory.ts";
import type { OutputPump } from "./output-pump.ts";
import type { RequestTable } from "./request-table.ts";
import type { RouterPicture } from "./router-picture.ts";

/** Bounds of the relay. */
export interface RelayOptions {
  readonly deadlines: StateDeadlines;
  /** Most requests at once; more are refused with `overloaded`. */
  readonly maxInFlight: number;
  /** How long a router may say nothing after it was asked, ms. */
  readonly routerNoticeMs: number;
  /** How long requests outlive the loss of the own bus, ms. */
  readonly busGraceMs: number;
  /** How often deadlines are looked at, ms. */
  readonly sweepMs: number;
  /** How long a worker may take to send lost frames again, ms. */
  readonly framesTimeoutMs: number;
  readonly extendLeaseMs: number;
  /** Most frames of a worker that wait behind a lost one. */
  readonly maxHeldFrames: number;
}

/** What the handlers of the relay read and write. */
export interface RelayState {
  readonly options: RelayOptions;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly subjects: Subjects;
  readonly view: ClusterView;
  readonly directory: ModelDirectory;
  readonly metrics: FrontendMetrics;
  readonly table: RequestTable;
  readonly pump: OutputPump;
  readonly cleanup: Cleanup;
  readonly transitions: TransitionLog;
  readonly frames: FrameIntake;
  readonly prepare: PrepareRequest;
  /** When the bus came back last, by the clock; before all time if it was never gone. */
  busBackAtMs: number;
  readonly routers: RouterPicture;
}
