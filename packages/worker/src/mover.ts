import {
  type HandoffDesk,
  type KvMover,
  type KvTransferMetrics,
  TcpKvMover,
} from "@baton/kv-transfer";
import type { Clock } from "@baton/runtime";
import type { WorkerConfig } from "./config.ts";

/** What a mover is given. */
export interface MoverDeps {
  readonly clock: Clock;
  readonly counters: KvTransferMetrics;
  readonly desk: HandoffDesk;
}

/** Makes the mover of one worker. */
export type MoverFactory = (config: WorkerConfig, deps: MoverDeps) => KvMover;

/** The mover of a worker in production. */
export const tcpMover: MoverFactory = (config, deps) =>
  new TcpKvMover(
    {
      host: config.transferHost,
      listenHost: config.transferListenHost,
      port: config.transferPort,
    },
    deps,
  );
