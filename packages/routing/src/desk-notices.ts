/** Hot path: one notice per request, or two if it waits. Budget 5 µs each. */
import {
  Dispatched,
  type FrontendFact,
  type Leg,
  LegFailed,
  type ModelName,
  Queued,
  type RequestHead,
  type ServingError,
} from "@baton/protocol";
import type { ActorContext } from "@baton/runtime";
import type { Chosen } from "./desk-policy.ts";

/** What a desk tells Frontends about one model's requests. */
export class DeskNotices {
  readonly #ctx: ActorContext;
  readonly #model: ModelName;
  readonly #leg: Leg;

  constructor(about: { readonly model: ModelName; readonly leg: Leg }, ctx: ActorContext) {
    this.#ctx = ctx;
    this.#model = about.model;
    this.#leg = about.leg;
  }

  /** The request waits here. */
  queued(head: RequestHead): void {
    const { id, generation } = this.#ctx;
    const router = { leg: this.#leg, routerId: id, routerGeneration: generation };
    this.#tell("queued", head, () => Queued.encode({ ...headOf(head), ...router }));
  }

  /** The request is on its way to a worker, after `queuedMs` here. */
  dispatched(head: RequestHead, chosen: Chosen, queuedMs: number): void {
    const { workerId, generation, dpRank, overlapBlocks } = chosen;
    const choice = { workerId, generation, dpRank, overlapBlocks, queuedMs };
    const router = { leg: this.#leg, routerId: this.#ctx.id };
    this.#tell("dispatched", head, () =>
      Dispatched.encode({ ...headOf(head), ...router, ...choice }),
    );
  }

  /** The leg is over. */
  failed(head: RequestHead, error: ServingError): void {
    const router = { leg: this.#leg, actorId: this.#ctx.id };
    this.#tell("failed", head, () => LegFailed.encode({ ...headOf(head), ...router, error }));
  }

  /** A notice that cannot be sent is lost: with the bus down the Frontend's own deadline and liveness rules decide. */
  #tell(fact: FrontendFact, head: RequestHead, encode: () => Uint8Array): void {
    const { bus, subjects, log } = this.#ctx;
    try {
      bus.publish(subjects.toFrontend(fact, this.#model, head.frontendId), encode());
    } catch (error) {
      log.warn({ err: error, requestId: head.requestId, fact }, "notice not sent");
    }
  }
}

/** The head of a request alone, so that what is kept does not hold on to its payload. */
export function headOf({
  requestId,
  frontendId,
  frontendGeneration,
  stream,
}: RequestHead): RequestHead {
  return { requestId, frontendId, frontendGeneration, stream };
}
