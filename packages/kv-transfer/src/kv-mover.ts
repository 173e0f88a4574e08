import type { KvHandoff } from "@baton/protocol";

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
  /** Called in the order of `parts`. Its rejection ends the pull. */
  readonly onPart: (part: PartId, bytes: Uint8Array) => Promise<void> | void;
}

/** A pull under way. */
export interface Pull {
  /** Resolves when every part has arrived. Rejects with `kv_transfer_failed` or `handoff_refused`. */
  readonly done: Promise<void>;
  /** Ends it; `done` then rejects with `cancelled`. */
  cancel(): void;
}

/** Moves KV between workers. */
export interface KvMover {
  /** `host:port` for tickets; null until `listen`. */
  readonly address: string | null;
  listen(): Promise<void>;
  pull(request: PullRequest): Pull;
  close(): Promise<void>;
}
