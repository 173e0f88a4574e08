import type { ActorHeartbeat } from "@baton/protocol";

/** Another actor, as its last heartbeat described it. */
export interface Peer {
  readonly heartbeat: ActorHeartbeat;
  /** When it was last heard, by the watcher's clock. */
  readonly heardAtMs: number;
}

/** What a watcher is told. Each peer is reported lost at most once between two of its life signs. */
export interface PeerListener {
  /** A peer is heard for the first time, with a new generation, in another state, or again after it was lost. */
  onAlive?(peer: Peer): void;
  /**
   * A peer is gone. `why`: `silent` (no heartbeat for the lease), `no_responders` (its probe found nobody),
   * `stopped` (it said goodbye), `replaced` (a later generation of the same id is heard).
   */
  onLost?(peer: Peer, why: "silent" | "no_responders" | "stopped" | "replaced"): void;
}
