import { timingSafeEqual } from "node:crypto";
import {
  handoffId as checkedHandoffId,
  type HandoffId,
  type KvHandoff,
  type RequestId,
  ServingError,
} from "@baton/protocol";
import type { Clock, Metrics, Random, Timer } from "@baton/runtime";
import { type HandoffEnd, type HandoffPhase, nextHandoffPhases } from "./handoff-phase.ts";
import type { HandoffDesk, KvSource, PullFailure, PullGrant, PullRefusal } from "./kv-mover.ts";
import type { KvTransferMetrics } from "./kv-transfer-metrics.ts";

/** How long staged KV lives without a pull. */
export const defaultLeaseMs = 30_000;
/** Most bytes staged at once. */
export const defaultMaxBytesHeld = 2 ** 31;
/** Ended tickets that are remembered, so that a second use is told from an unknown one. */
const rememberedTickets = 4_096;
const secretBytes = 16;

/** What a ticket says beside what the ledger adds: id, secret and expiry. */
export type HandoffFacts = Omit<KvHandoff, "handoffId" | "secret" | "expiresAtMs">;

/** Bounds of a ledger. */
export interface HandoffLedgerOptions {
  /** Default 30,000. A pull begins it anew with each part. */
  readonly leaseMs?: number;
  /** Default 2 GiB. Over it staging is refused. */
  readonly maxBytesHeld?: number;
}

/** What a ledger is given. */
export interface HandoffLedgerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly counters: KvTransferMetrics;
  /** The KV may be dropped. Called once per staged KV, after its state has changed. */
  readonly onFreed: (requestId: RequestId, handoffId: HandoffId, end: HandoffEnd) => void;
}

interface Entry {
  readonly handoffId: HandoffId;
  readonly requestId: RequestId;
  /** Null for engines that move the KV themselves. */
  readonly secret: Uint8Array | null;
  readonly source: KvSource | null;
  readonly bytes: number;
  phase: HandoffPhase;
  expiresAtMs: number;
  onRevoked: (() => void) | null;
}

interface Ended {
  readonly secret: Uint8Array | null;
  /** Whether a pull had used the ticket. */
  readonly used: boolean;
}

/**
 * Every KV that this worker has staged and its ticket: single use, a lease, a cap on bytes. Each staged KV ends exactly
 * once, as `pulled`, `released` or `expired`, and each end is counted. One timer serves all leases.
 */
export class HandoffLedger implements HandoffDesk {
  readonly #leaseMs: number;
  readonly #maxBytesHeld: number;
  readonly #deps: HandoffLedgerDeps;
  /** In order of expiry: all leases are equally long, and an extended one goes to the end. */
  readonly #entries = new Map<HandoffId, Entry>();
  readonly #byRequest = new Map<RequestId, HandoffId>();
  readonly #ended = new Map<HandoffId, Ended>();
  #bytesHeld = 0;
  #timer: Timer | null = null;

  constructor(options: HandoffLedgerOptions, deps: HandoffLedgerDeps) {
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#maxBytesHeld = options.maxBytesHeld ?? defaultMaxBytesHeld;
    this.#deps = deps;
    deps.metrics.gauge(
      "baton_kv_transfer_bytes_held",
      "Bytes of KV that are staged for other workers.",
      () => this.#bytesHeld,
    );
  }

  /** Staged KV caches, those under a pull included. */
  get held(): number {
    return this.#entries.size;
  }

  /** Their bytes. */
  get bytesHeld(): number {
    return this.#bytesHeld;
  }

  /** Whether a request's KV is staged. */
  holds(requestId: RequestId): boolean {
    return this.#byRequest.has(requestId);
  }

  /**
   * Takes a KV into the ledger and makes its ticket. `source` is null for an engine that moves the KV itself.
   * Throws `overloaded` over the cap.
   */
  stage(requestId: RequestId, source: KvSource | null, facts: HandoffFacts): KvHandoff {
    if (this.#byRequest.has(requestId)) {
      throw new ServingError("internal", { problem: "the request's KV is staged already" });
    }
    if (this.#bytesHeld + facts.bytes > this.#maxBytesHeld) {
      throw new ServingError("overloaded", {
        problem: "the staged KV would pass the cap on bytes held",
        bytes: facts.bytes,
        bytesHeld: this.#bytesHeld,
        maxBytesHeld: this.#maxBytesHeld,
      });
    }
    const entry: Entry = {
      handoffId: checkedHandoffId(this.#deps.random.id("h")),
      requestId,
      secret: source === null ? null : this.#deps.random.bytes(secretBytes),
      source,
      bytes: facts.bytes,
      phase: "staged",
      expiresAtMs: this.#deps.clock.nowMs() + this.#leaseMs,
      onRevoked: null,
    };
    this.#entries.set(entry.handoffId, entry);
    this.#byRequest.set(requestId, entry.handoffId);
    this.#bytesHeld += entry.bytes;
    this.#deps.counters.handoffs.add(1, { outcome: "staged" });
    this.#arm();
    const { handoffId, secret, expiresAtMs } = entry;
    return { ...facts, handoffId, secret, expiresAtMs };
  }

  openPull(handoffId: HandoffId, secret: Uint8Array, onRevoked: () => void): PullGrant {
    const entry = this.#entries.get(handoffId);
    if (entry === undefined) throw this.#refuse(handoffId, this.#refusalOfEnded(handoffId, secret));
    if (entry.source === null || !equalSecrets(entry.secret, secret)) {
      throw this.#refuse(handoffId, "secret");
    }
    if (entry.phase !== "staged") throw this.#refuse(handoffId, "used");
    if (this.#deps.clock.nowMs() >= entry.expiresAtMs) {
      this.#end(entry, "expired");
      throw this.#refuse(handoffId, "expired");
    }
    move(entry, "pulling");
    entry.onRevoked = onRevoked;
    this.#extend(entry);
    return this.#grant(entry, entry.source);
  }

  /** Frees one staged KV that nobody will fetch. False if it is not here. */
  release(handoffId: HandoffId): boolean {
    const entry = this.#entries.get(handoffId);
    if (entry === undefined) return false;
    this.#end(entry, "released");
    return true;
  }

  /** Begins the lease of a staged KV anew. False if it is not here. */
  extend(handoffId: HandoffId): boolean {
    const entry = this.#entries.get(handoffId);
    if (entry === undefined) return false;
    this.#extend(entry);
    return true;
  }

  /** Frees the staged KV of a request. False if there is none. */
  releaseRequest(requestId: RequestId): boolean {
    const handoffId = this.#byRequest.get(requestId);
    return handoffId !== undefined && this.release(handoffId);
  }

  /** Frees everything: the engine that held it is gone, or the worker stops. */
  releaseAll(): void {
    for (const entry of [...this.#entries.values()]) this.#end(entry, "released");
  }

  /** Frees everything and stops its timer. */
  close(): void {
    this.releaseAll();
    this.#timer?.cancel();
    this.#timer = null;
    this.#ended.clear();
  }

  #grant(entry: Entry, source: KvSource): PullGrant {
    return {
      requestId: entry.requestId,
      source,
      get live() {
        return entry.phase === "pulling";
      },
      extend: () => {
        if (entry.phase === "pulling") this.#extend(entry);
      },
      complete: () => this.#finishPull(entry, "pulled"),
      abandon: (why: PullFailure) => {
        if (why === "cut" && entry.phase === "pulling") {
          this.#deps.counters.pullsRefused.add(1, { reason: "cut" });
        }
        this.#finishPull(entry, "released");
      },
    };
  }

  #finishPull(entry: Entry, end: HandoffEnd): void {
    if (entry.phase !== "pulling") return;
    entry.onRevoked = null;
    this.#end(entry, end);
  }

  #end(entry: Entry, end: HandoffEnd): void {
    const used = entry.phase === "pulling";
    move(entry, end);
    this.#entries.delete(entry.handoffId);
    this.#byRequest.delete(entry.requestId);
    this.#bytesHeld -= entry.bytes;
    this.#remember(entry, used);
    this.#deps.counters.handoffs.add(1, { outcome: end });
    const revoked = entry.onRevoked;
    entry.onRevoked = null;
    revoked?.();
    this.#deps.onFreed(entry.requestId, entry.handoffId, end);
  }

  #remember(entry: Entry, used: boolean): void {
    if (this.#ended.size >= rememberedTickets) {
      for (const oldest of this.#ended.keys()) {
        this.#ended.delete(oldest);
        break;
      }
    }
    this.#ended.set(entry.handoffId, { secret: entry.secret, used });
  }

  /** A ticket that nobody knows any more counts as expired. */
  #refusalOfEnded(handoffId: HandoffId, secret: Uint8Array): PullRefusal {
    const ended = this.#ended.get(handoffId);
    if (ended === undefined) return "expired";
    if (!equalSecrets(ended.secret, secret)) return "secret";
    return ended.used ? "used" : "expired";
  }

  #refuse(handoffId: HandoffId, reason: PullRefusal): ServingError {
    this.#deps.counters.pullsRefused.add(1, { reason });
    return new ServingError("handoff_refused", { handoffId, reason });
  }

  #extend(entry: Entry): void {
    entry.expiresAtMs = this.#deps.clock.nowMs() + this.#leaseMs;
    this.#entries.delete(entry.handoffId);
    this.#entries.set(entry.handoffId, entry);
  }

  #arm(): void {
    if (this.#timer !== null) return;
    for (const first of this.#entries.values()) {
      const delayMs = Math.max(0, first.expiresAtMs - this.#deps.clock.nowMs());
      this.#timer = this.#deps.clock.setTimer(delayMs, () => this.#expire());
      return;
    }
  }

  #expire(): void {
    this.#timer = null;
    const nowMs = this.#deps.clock.nowMs();
    for (const entry of [...this.#entries.values()]) {
      if (entry.expiresAtMs > nowMs) break;
      this.#end(entry, "expired");
    }
    this.#arm();
  }
}

function move(entry: Entry, phase: HandoffPhase): void {
  if (!nextHandoffPhases[entry.phase].includes(phase)) {
    throw new ServingError("internal", { problem: `handoff from ${entry.phase} to ${phase}` });
  }
  entry.phase = phase;
}

/** Takes the same time whatever differs. */
function equalSecrets(own: Uint8Array | null, shown: Uint8Array): boolean {
  return own !== null && own.length === shown.length && timingSafeEqual(own, shown);
}
