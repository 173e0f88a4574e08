import { ServingError } from "@baton/protocol";
import type { Clock, Timer } from "../clock.ts";

interface PendingRequest {
  readonly subject: string;
  readonly deadlineAtMs: number;
  readonly resolve: (payload: Uint8Array) => void;
  readonly reject: (error: ServingError) => void;
}

/** Deadlines are looked at this often at most; an answer is given up that much late at worst. */
const sweepGapMs = 5;

/**
 * Hot path: once per request. The answers that a bus waits for: one record each, and one timer for all of them,
 * set for the earliest deadline.
 */
export class PendingReplies {
  readonly #clock: Clock;
  readonly #requests = new Map<string, PendingRequest>();
  readonly #streams = new Map<string, (payload: Uint8Array) => void>();
  #nextToken = 0;
  #sweep: Timer | null = null;
  #sweepAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Requests and open streams of answers. */
  get size(): number {
    return this.#requests.size + this.#streams.size;
  }

  /** Requests without an answer. */
  get requests(): number {
    return this.#requests.size;
  }

  /** Makes a record and hands its token to `send`; rejects if that throws. */
  ask(subject: string, timeoutMs: number, send: (token: string) => void): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const token = this.#token();
      send(token);
      const deadlineAtMs = this.#clock.nowMs() + timeoutMs;
      this.#requests.set(token, { subject, deadlineAtMs, resolve, reject });
      this.#sweepBy(deadlineAtMs);
    });
  }

  /** Opens a stream of answers. Answers its token. */
  open(onReply: (payload: Uint8Array) => void): string {
    const token = this.#token();
    this.#streams.set(token, onReply);
    return token;
  }

  close(token: string): void {
    this.#streams.delete(token);
  }

  /** False if nobody waits for the token. */
  answer(token: string, payload: Uint8Array): boolean {
    const request = this.#requests.get(token);
    if (request !== undefined) {
      this.#requests.delete(token);
      request.resolve(payload);
      return true;
    }
    const onReply = this.#streams.get(token);
    if (onReply === undefined) return false;
    onReply(payload);
    return true;
  }

  /** Nobody listened for what was asked. An open stream just stays silent. */
  noResponders(token: string): void {
    const request = this.#requests.get(token);
    if (request === undefined) return;
    this.#requests.delete(token);
    request.reject(new ServingError("no_responders", { subject: request.subject }));
  }

  /** Ends every request with `bus_unavailable`; streams stay silent until they are closed. */
  rejectAll(): void {
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    this.#stopSweep();
    for (const request of requests) {
      request.reject(new ServingError("bus_unavailable", { subject: request.subject }));
    }
  }

  #token(): string {
    this.#nextToken += 1;
    return this.#nextToken.toString(36);
  }

  #sweepBy(deadlineAtMs: number): void {
    if (this.#sweep !== null && deadlineAtMs >= this.#sweepAtMs) return;
    this.#sweep?.cancel();
    this.#sweepAtMs = deadlineAtMs;
    const delayMs = Math.max(deadlineAtMs - this.#clock.nowMs(), 0);
    this.#sweep = this.#clock.setTimer(delayMs, () => this.#sweepNow());
  }

  #sweepNow(): void {
    this.#stopSweep();
    const nowMs = this.#clock.nowMs();
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const [token, request] of this.#requests) {
      if (request.deadlineAtMs > nowMs) {
        nextAtMs = Math.min(nextAtMs, request.deadlineAtMs);
        continue;
      }
      this.#requests.delete(token);
      request.reject(new ServingError("deadline_exceeded", { subject: request.subject }));
    }
    if (this.#requests.size > 0) this.#sweepBy(Math.max(nextAtMs, nowMs + sweepGapMs));
  }

  #stopSweep(): void {
    this.#sweep?.cancel();
    this.#sweep = null;
    this.#sweepAtMs = Number.POSITIVE_INFINITY;
  }
}
