import type { WorkerView } from "@baton/cluster-view";
import {
  Booking,
  CancelRoute,
  type LoadReport,
  type MessageType,
  type ModelName,
  RouteExplained,
  routersQueue,
  type ServingError,
  SessionBound,
} from "@baton/protocol";
import type { BusMessage, BusSubscription } from "@baton/runtime";
import type { DeskLimits, DeskRequest } from "./desk-policy.ts";
import { type DeskDeps, ModelDesk } from "./model-desk.ts";

/** What a host needs to make a desk and to read what comes in. */
export interface DeskHostDeps<Request extends DeskRequest> extends DeskDeps<Request> {
  readonly message: MessageType<Request>;
}

/** One model's desk with its subscriptions. It hears bookings and cancels while it stands, requests while it serves. */
export class DeskHost<Request extends DeskRequest> {
  readonly desk: ModelDesk<Request>;
  readonly #deps: DeskHostDeps<Request>;
  readonly #heard: readonly BusSubscription[];
  /** To the group, and to this router by name. */
  #requests: readonly BusSubscription[] = [];
  /** What requests hear that were under way when the queue group was left. */
  #holdError: ServingError | null = null;
  #leaving: Promise<void> = Promise.resolve();

  constructor(
    options: { readonly model: ModelName; readonly limits: DeskLimits },
    deps: DeskHostDeps<Request>,
  ) {
    this.#deps = deps;
    this.desk = new ModelDesk(options, deps);
    const { ctx, policy } = deps;
    this.#heard = [
      this.#hear(ctx.subjects.booked(policy.role, options.model), Booking, (booking) => {
        if (booking.routerId !== ctx.id) this.desk.hear(booking);
      }),
      this.#hear(ctx.subjects.routeCancel(policy.role, options.model), CancelRoute, (cancel) =>
        this.desk.cancel(cancel.requestIds),
      ),
      this.#hear(ctx.subjects.sessionBound(policy.role, options.model), SessionBound, (bound) => {
        if (bound.routerId !== ctx.id) this.desk.hearSession(bound);
      }),
      this.#hear(
        ctx.subjects.explainRoute(policy.role, options.model),
        deps.message,
        (request, message) => message.respond(RouteExplained.encode(this.desk.explain(request))),
        routersQueue,
      ),
    ];
  }

  /** Whether it is in the model's queue group. */
  get isServing(): boolean {
    return this.#requests.length > 0;
  }

  /** Whether nothing waits and nothing is booked. */
  get isIdle(): boolean {
    return this.desk.queued === 0 && this.desk.booked === 0;
  }

  /** Joins the model's queue group. */
  serve(): void {
    if (this.isServing) return;
    const { ctx, policy, message } = this.#deps;
    const { model } = this.desk;
    const take = (request: Request) => this.#take(request);
    this.#holdError = null;
    this.#requests = [
      this.#hear(ctx.subjects.route(policy.role, model), message, take, routersQueue),
      this.#hear(ctx.subjects.routeTo(policy.role, model, ctx.id), message, take),
    ];
  }

  /**
   * Leaves the queue group. What waits or is under way is refused with `error`; what is booked stays until it ends.
   */
  hold(error: ServingError): void {
    this.#holdError = error;
    this.desk.refuseAll(error);
    if (!this.isServing) return;
    this.#leaving = Promise.all(this.#requests.map((one) => one.drain())).then(() => undefined);
    this.#requests = [];
  }

  /** Resolves when no request is under way any more since the last `hold`. */
  left(): Promise<void> {
    return this.#leaving;
  }

  /** Hears a worker's report, if the worker is of a type that the role chooses. */
  reported(worker: WorkerView, report: LoadReport): void {
    if (this.#deps.policy.workerTypes.has(worker.workerType)) this.desk.reported(worker, report);
  }

  /** Ends all subscriptions. */
  close(): void {
    for (const subscription of this.#requests) subscription.unsubscribe();
    this.#requests = [];
    this.desk.close();
    for (const subscription of this.#heard) subscription.unsubscribe();
  }

  #take(request: Request): void {
    if (this.#holdError === null) this.desk.take(request);
    else this.desk.refuse(request, this.#holdError);
  }

  #hear<Message>(
    subject: string,
    message: MessageType<Message>,
    take: (decoded: Message, message: BusMessage) => void,
    queue?: string,
  ): BusSubscription {
    const { ctx, metrics } = this.#deps;
    return ctx.bus.subscribe(
      subject,
      (received) => {
        let decoded: Message;
        try {
          decoded = message.decode(received.payload);
        } catch (error) {
          metrics.malformed();
          ctx.log.error({ subject, err: error }, "malformed message");
          return;
        }
        take(decoded, received);
      },
      queue === undefined ? {} : { queue },
    );
  }
}
