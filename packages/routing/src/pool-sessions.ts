/** Hot path: once per request of a session; one field read for all others. */
import {
  type AffinityMode,
  applySession,
  createSessionTable,
  type SelectionRequest,
  type SessionBinding,
  type SessionTable,
  type SessionTarget,
  sessionKey,
  type WorkerCandidate,
} from "@baton/kv-router";
import { type ActorId, type BookingId, type RequestSession, ServingError } from "@baton/protocol";
import type { StageAffinity } from "./policy/router-policy.ts";

/** What a session makes of a request's choice. */
export type SessionOutcome =
  /** Put over the request; empty without a session, or where its rank is still to be chosen. */
  | { readonly kind: "choose"; readonly rule: Pick<SelectionRequest, "pin" | "preferred"> }
  /** Another request of the session is choosing. */
  | { readonly kind: "wait" }
  | { readonly kind: "refused"; readonly error: ServingError };

/** What of a request a session looks at. */
type SessionRequest = Pick<SelectionRequest, "nowMs" | "pin" | "allowedWorkers" | "constraints">;

const asItIs: SessionOutcome = { kind: "choose", rule: {} };

/** The sessions of one pool, if they have an effect there. */
export class PoolSessions {
  readonly #writer: ActorId;
  #table: SessionTable | null = null;
  #mode: AffinityMode = "hard";

  /** `writer`: this router. */
  constructor(writer: ActorId) {
    this.#writer = writer;
  }

  get size(): number {
    return this.#table?.size ?? 0;
  }

  /** Takes over how sessions stay; null: they have no effect, and what was bound is forgotten. */
  configure(affinity: StageAffinity | null): void {
    if (affinity === null) {
      this.#table = null;
      return;
    }
    const { ttlMs, mode } = affinity;
    this.#mode = mode;
    if (this.#table === null) this.#table = createSessionTable({ writer: this.#writer, ttlMs });
    else this.#table.setTtl(ttlMs);
  }

  /** Asks what a request's session says. The request holds on to it until `end`. */
  ask(
    holder: BookingId,
    session: RequestSession | undefined,
    request: SessionRequest,
    candidates: readonly WorkerCandidate[],
  ): SessionOutcome {
    const table = this.#table;
    if (table === null || session === undefined) return asItIs;
    const key = sessionKey(session, request.pin !== undefined);
    const asked = table.ask(holder, key, request.nowMs);
    switch (asked.kind) {
      case "claimed":
        return asItIs;
      case "wait":
        return { kind: "wait" };
      case "full": {
        const problem = "the router's table of sessions is full";
        return { kind: "refused", error: new ServingError("overloaded", { problem }) };
      }
      case "bound": {
        const outcome = this.#apply(asked.target, request, candidates);
        if (outcome === null) table.abandon(holder);
        return outcome ?? asItIs;
      }
    }
  }

  /** What `ask` would say, as far as a binding goes. Changes nothing. */
  peek(
    session: RequestSession | undefined,
    request: SessionRequest,
    candidates: readonly WorkerCandidate[],
  ): SessionOutcome {
    if (session === undefined || this.#table === null) return asItIs;
    const key = sessionKey(session, request.pin !== undefined);
    const target = this.#table.peek(key, request.nowMs);
    return (target === null ? null : this.#apply(target, request, candidates)) ?? asItIs;
  }

  /** The request was dispatched there. Returns what the other routers are to hear. */
  commit(
    holder: BookingId,
    target: Pick<WorkerCandidate, "workerId" | "generation" | "dpRank">,
    nowMs: number,
  ): SessionBinding | null {
    return this.#table?.commit(holder, target, nowMs) ?? null;
  }

  /** The request is over, or left without being dispatched. Returns what the other routers are to hear. */
  end(holder: BookingId, nowMs: number): SessionBinding | null {
    return this.#table?.end(holder, nowMs).binding ?? null;
  }

  /** Hears another router's word. `isKnown`: the worker is listed, with that generation and rank. */
  hear(binding: SessionBinding, isKnown: boolean, nowMs: number): void {
    this.#table?.hear(binding, isKnown, nowMs);
  }

  sweep(nowMs: number): void {
    this.#table?.sweep(nowMs);
  }

  /** Null if the rank is gone, or may not be chosen. */
  #apply(
    target: SessionTarget,
    request: SessionRequest,
    candidates: readonly WorkerCandidate[],
  ): SessionOutcome | null {
    const applied = applySession(this.#mode, target, request, candidates);
    switch (applied.kind) {
      case "rule":
        return { kind: "choose", rule: applied.rule };
      case "contradiction": {
        const error = new ServingError("invalid_request", { problem: applied.text });
        return { kind: "refused", error };
      }
      case "stale":
        return null;
    }
  }
}
