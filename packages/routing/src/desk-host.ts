import type { ClusterView } from "@baton/cluster-view";
import type { WorkerSelector } from "@baton/kv-router";
import {
  Booking,
  CancelRoute,
  type LoadReport,
  type MessageType,
  type ModelName,
  routersQueue,
  ServingError,
} from "@baton/protocol";
import type { ActorContext, BusSubscription } from "@baton/runtime";
import { type DeskLimits, type DeskPolicy, type DeskRequest, ModelDesk } from "./model-desk.ts";

/** What a host needs to make a desk and to read what comes in. */
export interface DeskHostDeps<Request extends DeskRequest> {
  readonly ctx: ActorContext;
  readonly view: ClusterView;
  readonly policy: DeskPolicy<Request>;
  readonly selector: WorkerSelector;
  readonly message: MessageType<Request>;
  /** Called with what could not be decoded. */
  readonly onMalformed: (subject: string, error: unknown) => void;
}

/** One model's desk with its subscriptions. It hears bookings and cancels while open, requests while serving. */
export class DeskHost<Request extends DeskRequest> {
  readonly desk: ModelDesk<Request>;
  readonly #deps: DeskHostDeps<Request>;
  readonly #heard: readonly BusSubscription[];
  #route: BusSubscription | null = null;

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
    ];
  }

  get serving(): boolean {
    return this.#route !== null;
  }

  /** Joins the model's queue group. */
  serve(): void {
    if (this.#route !== null) return;
    const { ctx, policy, message } = this.#deps;
    this.#route = this.#hear(
      ctx.subjects.route(policy.role, this.desk.model),
      message,
      (request) => this.desk.take(request),
      routersQueue,
    );
  }

  /** Leaves the queue group. What waits is refused with `error`. */
  hold(error: ServingError): void {
    this.#route?.unsubscribe();
    this.#route = null;
    this.desk.close(error);
  }

  reported(report: LoadReport): void {
    this.desk.reported(report);
  }

  /** Ends all subscriptions. */
  close(): void {
    this.hold(new ServingError("draining"));
    for (const subscription of this.#heard) subscription.unsubscribe();
  }

  #hear<Message>(
    subject: string,
    message: MessageType<Message>,
    take: (message: Message) => void,
    queue?: string,
  ): BusSubscription {
    return this.#deps.ctx.bus.subscribe(
      subject,
      ({ payload }) => {
        let decoded: Message;
        try {
          decoded = message.decode(payload);
        } catch (error) {
          this.#deps.onMalformed(subject, error);
          return;
        }
        take(decoded);
      },
      queue === undefined ? {} : { queue },
    );
  }
}
