import type { ActorId, BookingId, WorkerId } from "@baton/protocol";

/** The rank that a session's requests go to. A worker's later generation is another target: its cache is empty. */
export interface SessionTarget {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
}

/** Which of two bindings of a session is the later: the higher sequence, then the greater writer. */
export interface BindingVersion {
  /** At least the epoch ms of the commit, and more than any that its writer had seen. */
  readonly sequence: number;
  /** The router that made it. */
  readonly writer: ActorId;
}

/** A session's binding as routers tell each other. */
export interface SessionBinding extends SessionTarget, BindingVersion {
  readonly key: string;
}

/** What a request of a session is told. */
export type Asked =
  /** The session has a rank. The request holds the binding until `end`. */
  | { readonly kind: "bound"; readonly target: SessionTarget }
  /** The session has none: this request chooses, the others of the session wait for it. */
  | { readonly kind: "claimed" }
  /** Another request of the session is choosing: ask again when that one was dispatched or has left. */
  | { readonly kind: "wait" }
  /** The table is full: the request is refused as `overloaded`. */
  | { readonly kind: "full" };

/** What the end of a request means to others. */
export interface HoldEnd {
  /** A claim was given up: others of the session may ask again. */
  readonly reopened: boolean;
  /** To be told to the other routers; null if there is nothing to tell. */
  readonly binding: SessionBinding | null;
}

/** What became of another router's word. `ignored` with the reason. */
export type HeardBinding =
  | { readonly kind: "taken" | "refreshed" }
  | {
      readonly kind: "ignored";
      readonly reason: "older" | "claimed" | "unknown_worker" | "full";
    };

/** Settings of a table. */
export interface SessionTableOptions {
  /** This router's id, for the versions of its bindings. */
  readonly writer: ActorId;
  /** How long a binding stays that no request holds, ms. */
  readonly ttlMs: number;
  /** Most sessions; 65,536 if not given. */
  readonly limit?: number;
}

/**
 * Which rank each session of one pool and leg goes to (`dynamo-semantics` 3.13). A request asks, is dispatched
 * (`commit`) or leaves, and ends (`end`); what it holds in between keeps the session's binding alive.
 */
export interface SessionTable {
  /** Sessions that are bound or being claimed; some may have expired since the last sweep. */
  readonly size: number;
  /** Changes how long bindings stay that nobody holds, ms. */
  setTtl(ttlMs: number): void;
  /** Hot path: once per attempt to place a request of a session. Asking again changes nothing. */
  ask(holder: BookingId, key: string, nowMs: number): Asked;
  /** The rank that a session is bound to; null if it is not. Changes nothing. */
  peek(key: string, nowMs: number): SessionTarget | null;
  /** The rank that `holder` was told cannot take it: drops the binding, and `holder` chooses anew. */
  abandon(holder: BookingId): void;
  /**
   * The request was dispatched there. Binds the session if the holder claims it or went to another rank than the bound
   * one. Returns what to tell the other routers; null if the request belongs to no session.
   */
  commit(holder: BookingId, target: SessionTarget, nowMs: number): SessionBinding | null;
  /** The request is over, or left without being dispatched. A binding outlives the failure of its worker's requests. */
  end(holder: BookingId, nowMs: number): HoldEnd;
  /** Hears another router's binding. `isKnown`: the worker is listed, with that generation and rank. */
  hear(binding: SessionBinding, isKnown: boolean, nowMs: number): HeardBinding;
  /** Forgets bindings that nobody has held for longer than the TTL. Cheap until the next period is over. */
  sweep(nowMs: number): void;
}
