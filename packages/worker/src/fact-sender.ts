import {
  type ActorId,
  type Leg,
  LegFailed,
  type ModelName,
  PrefillDone,
  type RequestHead,
  type ServingError,
  type Subjects,
} from "@baton/protocol";
import type { Publisher } from "./publisher.ts";

/** Failures kept while the bus is gone; over it the oldest are dropped, and their Frontends' deadlines end them. */
const maxUnsent = 1_024;

/** What a sender is given. */
export interface FactSenderDeps {
  readonly actorId: ActorId;
  readonly model: ModelName;
  readonly subjects: Subjects;
  readonly publisher: Publisher;
}

/** Tells Frontends how legs ended. */
export class FactSender {
  readonly #deps: FactSenderDeps;
  #unsent: LegFailed[] = [];

  constructor(deps: FactSenderDeps) {
    this.#deps = deps;
  }

  /** Null if it was sent. Otherwise nobody will fetch the KV. */
  prefillDone(fact: PrefillDone): ServingError | null {
    return this.#publish("prefilled", fact, PrefillDone.encode(fact));
  }

  /** A failure is the last word about a leg, so it is kept until the bus is back. */
  legFailed(head: RequestHead, leg: Leg, error: ServingError): void {
    const fact: LegFailed = { ...pickHead(head), leg, actorId: this.#deps.actorId, error };
    if (this.#publish("failed", fact, LegFailed.encode(fact)) === null) return;
    if (this.#unsent.length >= maxUnsent) this.#unsent.shift();
    this.#unsent.push(fact);
  }

  /** The bus is back. */
  resend(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    for (const fact of unsent) this.legFailed(fact, fact.leg, fact.error);
  }

  #publish(
    fact: "prefilled" | "failed",
    head: RequestHead,
    payload: Uint8Array,
  ): ServingError | null {
    const subject = this.#deps.subjects.toFrontend(fact, this.#deps.model, head.frontendId);
    return this.#deps.publisher.publish(subject, payload);
  }
}

/** Just the head of something that holds one. */
export function pickHead(head: RequestHead): RequestHead {
  const { requestId, frontendId, frontendGeneration, stream } = head;
  return { requestId, frontendId, frontendGeneration, stream };
}
