import {
  Abort,
  CancelRoute,
  Extend,
  KvHandoff,
  type ModelName,
  Release,
  type RequestId,
  type Subjects,
  type WorkerId,
} from "@baton/protocol";
import type { Bus, Counter } from "@baton/runtime";
import type { Logger } from "pino";
import type { RelayedRequest } from "./relayed-request.ts";

/** What cleaning up needs. */
export interface CleanupDeps {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly log: Logger;
  /** Counts words that were never said. */
  readonly dropped: Counter;
}

/** Most words that wait for the bus to come back. Workers free the rest by their own leases. */
const maxWaiting = 16_384;

/**
 * Tells workers and routers what is over. While the bus is gone the words wait here, and are said when it is back: a
 * worker that saw the same outage still runs what was cancelled meanwhile.
 */
export class Cleanup {
  readonly #deps: CleanupDeps;
  #waiting: (readonly [subject: string, payload: Uint8Array])[] = [];

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  /** A request ended in another way than by its own last token: whoever may have some of it drops it. */
  endEverywhere(request: RelayedRequest, reason: string): void {
    const { prefill, decode } = request.legs;
    const abort = Abort.encode({ requestIds: [request.id], reason });
    let isAnywhere = false;
    for (const leg of [prefill, decode]) {
      if (!leg.asked || leg.isOver) continue;
      if (leg.workerId === null) isAnywhere = true;
      else this.#say(this.#deps.subjects.worker("abort", request.model, leg.workerId), abort);
    }
    if (isAnywhere) this.#say(this.#deps.subjects.abortAnywhere(request.model), abort);
    const cancel = CancelRoute.encode({ requestIds: [request.id] });
    if (prefill.asked && !prefill.isRefused) {
      this.#say(this.#deps.subjects.routeCancel("prefill-router", request.model), cancel);
    }
    if (decode.asked && !decode.isRefused) {
      this.#say(this.#deps.subjects.routeCancel("decode-router", request.model), cancel);
    }
  }

  /** One worker drops one request. */
  abort(model: ModelName, workerId: WorkerId, requestId: RequestId, reason: string): void {
    const subject = this.#deps.subjects.worker("abort", model, workerId);
    this.#say(subject, Abort.encode({ requestIds: [requestId], reason }));
  }

  /** Frees a staged KV that nobody will fetch, because prefill ended the generation. */
  release(request: RelayedRequest, handoff: Uint8Array): void {
    const { handoffId, prefillWorkerId } = KvHandoff.decode(handoff);
    const subject = this.#deps.subjects.worker("release", request.model, prefillWorkerId);
    this.#say(subject, Release.encode({ handoffId, requestId: request.id }));
  }

  /** Keeps a staged KV whose decode request still waits. */
  extend(request: RelayedRequest, handoff: Uint8Array): void {
    const { handoffId, prefillWorkerId } = KvHandoff.decode(handoff);
    const subject = this.#deps.subjects.worker("extend", request.model, prefillWorkerId);
    this.#say(subject, Extend.encode({ handoffId, requestId: request.id }));
  }

  /** The bus is back: says what waited. */
  resume(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const [subject, payload] of waiting) this.#say(subject, payload);
  }

  #say(subject: string, payload: Uint8Array): void {
    const { bus, dropped, log } = this.#deps;
    if (bus.state === "disconnected") {
      if (this.#waiting.length < maxWaiting) this.#waiting.push([subject, payload]);
      else dropped.add();
      return;
    }
    try {
      bus.publish(subject, payload);
    } catch (error) {
      // The request has ended already; whoever holds something of it has a lease on it.
      dropped.add();
      log.debug({ err: error, subject }, "clean-up not sent");
    }
  }
}
