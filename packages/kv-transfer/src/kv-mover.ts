import type { HandoffId, KvHandoff, RequestId } from "@baton/protocol";

/** The index of a full block, or the part after the last one. */
export type PartId = number | "tail";

/** KV that one side gives out part by part. */
export interface KvSource {
  /** Rejects if the part is gone. */
  read(part: PartId): Promise<Uint8Array>;
}

/** What a puller wants. */
export interface PullRequest {
  readonly ticket: KvHandoff;
  /** The parts to fetch; an empty list still uses the ticket up, so that the source frees its KV. */
  readonly parts: readonly PartId[];
  /** Called in the order of `parts`, one at a time. Its rejection ends the pull. The bytes are the callee's to keep. */
  readonly onPart: (part: PartId, bytes: Uint8Array) => Promise<void> | void;
}

/** A pull under way. */
export interface Pull {
  /** Resolves when every part has arrived. Rejects with `kv_transfer_failed`, `handoff_refused`, `cancelled`, or what `onPart` threw. */
  readonly done: Promise<void>;
  /** Ends it; `done` then rejects with `cancelled`. Does nothing once `done` is settled. */
  cancel(): void;
}

/** Moves KV between workers. */
export interface KvMover {
  /** `host:port` for tickets; null until `listen`. */
  readonly address: string | null;
  /** Takes pulls from others. Rejects with `config_invalid` if the address cannot be had. */
  listen(): Promise<void>;
  pull(request: PullRequest): Pull;
  /** Ends every pull, in both directions, and lets go of everything. */
  close(): Promise<void>;
}

/** Why a source does not give out KV. */
export type PullRefusal = "secret" | "used" | "expired";

/** Why a pull that was let in ended without success: the connection broke, the puller gave up, or the KV could not be read. */
export type PullFailure = "cut" | "cancelled" | "failed";

/** One pull that a source has let in. Each is ended exactly once, by `complete`, `abandon` or the ledger. */
export interface PullGrant {
  readonly requestId: RequestId;
  readonly source: KvSource;
  /** False once the KV is freed: nothing may be sent any more. */
  readonly live: boolean;
  /** The pull goes on: the lease begins anew. */
  extend(): void;
  /** The puller has everything: the KV is freed as `pulled`. */
  complete(): void;
  /** The pull is over without success: the KV is freed as `released`, since a ticket is single use. */
  abandon(why: PullFailure): void;
}

/** Whom a mover asks when somebody shows a ticket. */
export interface HandoffDesk {
  /**
   * Uses a ticket up and begins its pull. `onRevoked` is called at most once, if the KV is freed under the pull.
   * Throws `handoff_refused` with `reason` in its details.
   */
  openPull(handoffId: HandoffId, secret: Uint8Array, onRevoked: () => void): PullGrant;
}
