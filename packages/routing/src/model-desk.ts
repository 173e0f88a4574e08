// Hot path: `take` and `#place` run once per request and leg. Budget 50 µs. Bench: bench/model-desk.bench.ts
import type { ClusterView, WorkerView } from "@baton/cluster-view";
import {
  type Bookings,
  createBookings,
  createFcfsQueue,
  type RequestQueue,
  type Selection,
  type SelectionRequest,
  type WorkerSelector,
} from "@baton/kv-router";
import {
  Booking,
  Dispatched,
  type Leg,
  LegFailed,
  type LoadReport,
  type ModelName,
  Queued,
  type RequestHead,
  type RequestId,
  type RouterRole,
  ServingError,
  type WorkerId,
  type WorkerVerb,
} from "@baton/protocol";
import type { ActorContext } from "@baton/runtime";
import { candidatesOf } from "./candidates.ts";
import { RecentIds } from "./recent-ids.ts";
import { refusalOf } from "./refusal.ts";

/** A routing request, as far as a desk looks into it. */
export interface DeskRequest extends RequestHead {
  readonly timeoutMs: number;
  readonly promptTokens: number;
  readonly blockHashes: Uint8Array;
}

/** A chosen worker. */
export type Chosen = Extract<Selection, { kind: "selected" }>;

/** What to send to the worker that was chosen. */
export interface WorkerCommand {
  readonly verb: WorkerVerb;
  readonly payload: Uint8Array;
}

/** What differs between the roles. */
export interface DeskPolicy<Request extends DeskRequest> {
  readonly role: RouterRole;
  readonly leg: Leg;
  /** The workers that the request may go to at all. */
  pool(request: Request, workers: readonly WorkerView[]): readonly WorkerView[];
  rules(
    request: Request,
  ): Pick<SelectionRequest, "constraints" | "allowedWorkers" | "pin" | "overrides">;
  /** Whether the request's KV is staged: it then waits before all others, and only for room. */
  isStaged(request: Request): boolean;
  /** The command for the chosen worker. Throws a `ServingError` if the request must not be dispatched. */
  command(request: Request, chosen: Chosen, worker: WorkerView): WorkerCommand;
}

/** Limits of a desk. */
export interface DeskLimits {
  /** Most requests that wait. */
  readonly queueLimit: number;
  /** Most bookings held. */
  readonly bookingLimit: number;
  /** How long a booking may be missing from its worker's reports, ms. */
  readonly bookingGraceMs: number;
  /** How long a worker that could not be reached is left out, ms. */
  readonly refusalMs: number;
}

/** How many requests went which way. */
export interface DeskCounters {
  dispatched: number;
  refused: number;
  undeliverable: number;
}

interface Waiting<Request> {
  readonly request: Request;
  readonly arrivedMs: number;
}

const recentCancelsLimit = 65_536;
const recentCancelsMs = 5_000;

/** Routes the requests of one model and leg: queues, chooses, books, dispatches, and hears the end. */
export class ModelDesk<Request extends DeskRequest> {
  readonly model: ModelName;
  readonly bookings: Bookings;
  readonly counters: DeskCounters = { dispatched: 0, refused: 0, undeliverable: 0 };
  readonly #ctx: ActorContext;
  readonly #view: ClusterView;
  readonly #policy: DeskPolicy<Request>;
  readonly #limits: DeskLimits;
  readonly #selector: WorkerSelector;
  readonly #queue: RequestQueue<Waiting<Request>>;
  readonly #stagedQueue: RequestQueue<Waiting<Request>>;
  readonly #cancelled = new RecentIds<RequestId>({
    limit: recentCancelsLimit,
    keepMs: recentCancelsMs,
  });
  /** Heads of what this router has dispatched, for the bounce of a dead worker. Ends with the booking. */
  readonly #dispatched = new Map<RequestId, RequestHead>();
  readonly #refusesUntilMs = new Map<WorkerId, number>();

  constructor(
    options: { readonly model: ModelName; readonly limits: DeskLimits },
    deps: {
      readonly ctx: ActorContext;
      readonly view: ClusterView;
      readonly policy: DeskPolicy<Request>;
      readonly selector: WorkerSelector;
    },
  ) {
    this.model = options.model;
    this.#limits = options.limits;
    this.#ctx = deps.ctx;
    this.#view = deps.view;
    this.#policy = deps.policy;
    this.#selector = deps.selector;
    this.bookings = createBookings({
      limit: options.limits.bookingLimit,
      graceMs: options.limits.bookingGraceMs,
    });
    this.#queue = createFcfsQueue({ limit: options.limits.queueLimit });
    this.#stagedQueue = createFcfsQueue({ limit: options.limits.queueLimit });
  }

  /** Requests that wait. */
  get queued(): number {
    return this.#queue.size + this.#stagedQueue.size;
  }

  /** Takes a request: dispatches it, lets it wait, or refuses it. Whichever it is, its Frontend hears of it. */
  take(request: Request): void {
    const nowMs = this.#ctx.clock.nowMs();
    if (this.#cancelled.has(request.requestId, nowMs)) return;
    const queue = this.#queueFor(request);
    const waiting: Waiting<Request> = { request, arrivedMs: nowMs };
    if (queue.size === 0 && this.#place(waiting)) return;
    const outcome = queue.enqueue(
      {
        requestId: request.requestId,
        arrivedMs: nowMs,
        deadlineMs: nowMs + request.timeoutMs,
        payload: waiting,
      },
      nowMs,
    );
    if (outcome.kind === "refused") {
      this.#refuse(request, queueRefusal(outcome));
      return;
    }
    if (outcome.dropped !== undefined) {
      this.#refuse(outcome.dropped.payload.request, new ServingError("overloaded"));
    }
    this.#tellQueued(request);
  }

  /** Ends requests wherever they are here. */
  cancel(requestIds: readonly RequestId[]): void {
    const nowMs = this.#ctx.clock.nowMs();
    for (const requestId of requestIds) {
      this.#cancelled.add(requestId, nowMs);
      this.#queue.cancel(requestId);
      this.#stagedQueue.cancel(requestId);
      this.#end(requestId);
    }
    this.pump();
  }

  /** Hears a booking of any router, this one included. */
  hear(booking: Booking): void {
    const nowMs = this.#ctx.clock.nowMs();
    if (this.#cancelled.has(booking.bookingId, nowMs)) return;
    // Nobody would end a booking on a worker that is gone. One on a worker not yet listed is learned from its reports.
    const worker = this.#view.worker(booking.workerId);
    if (worker?.generation !== booking.generation || worker.state === "lost") return;
    this.bookings.book({ ...booking, atMs: nowMs });
  }

  /** Hears what a worker says it runs. */
  reported(report: LoadReport): void {
    for (const bookingId of report.endedBookings) this.#end(bookingId);
    if (report.liveBookings !== null) {
      const { ended } = this.bookings.reconcile(
        { ...report, liveBookings: report.liveBookings, dpRank: 0 },
        this.#ctx.clock.nowMs(),
      );
      for (const entry of ended) this.#dispatched.delete(entry.bookingId);
    }
    this.pump();
  }

  /** Forgets what a lost worker ran: its Frontends notice by themselves. */
  workerLost(workerId: WorkerId): void {
    for (const entry of this.bookings.dropWorker(workerId))
      this.#dispatched.delete(entry.bookingId);
    this.#refusesUntilMs.delete(workerId);
    this.pump();
  }

  /** Forgets a lost Frontend's requests, waiting and booked. */
  frontendLost(frontendId: RequestHead["frontendId"]): void {
    for (const entry of this.bookings.dropFrontend(frontendId)) {
      this.#dispatched.delete(entry.bookingId);
    }
    for (const [requestId, head] of this.#dispatched) {
      if (head.frontendId === frontendId) this.#dispatched.delete(requestId);
    }
    for (const queue of [this.#queue, this.#stagedQueue]) {
      for (const { requestId, payload } of [...queue.entries()]) {
        if (payload.request.frontendId === frontendId) queue.cancel(requestId);
      }
    }
    this.pump();
  }

  /** A dispatched command found nobody. */
  undeliverable(requestId: RequestId): void {
    const head = this.#dispatched.get(requestId);
    if (head === undefined) return;
    const workerId = this.bookings.get(requestId)?.workerId;
    this.#end(requestId);
    this.counters.undeliverable += 1;
    if (workerId !== undefined) {
      this.#refusesUntilMs.set(workerId, this.#ctx.clock.nowMs() + this.#limits.refusalMs);
    }
    this.#tellFailed(head, new ServingError("worker_lost", { workerId: workerId ?? null }));
    this.pump();
  }

  /** Places what waits, staged requests first, until one does not fit. */
  pump(): void {
    for (const queue of [this.#stagedQueue, this.#queue]) {
      for (let head = queue.head(); head !== undefined; head = queue.head()) {
        if (!this.#place(head.payload)) return;
        queue.takeHead();
      }
    }
  }

  /** Refuses what has waited too long, and forgets old refusals. */
  sweep(): void {
    const nowMs = this.#ctx.clock.nowMs();
    for (const queue of [this.#stagedQueue, this.#queue]) {
      for (const { payload } of queue.expire(nowMs)) {
        this.#refuse(payload.request, new ServingError("deadline_exceeded"));
      }
    }
    for (const [workerId, untilMs] of this.#refusesUntilMs) {
      if (untilMs <= nowMs) this.#refusesUntilMs.delete(workerId);
    }
    if (this.queued > 0) this.pump();
  }

  /** Refuses everything that waits. */
  close(error: ServingError): void {
    for (const queue of [this.#stagedQueue, this.#queue]) {
      for (const { payload } of queue.clear()) this.#refuse(payload.request, error);
    }
  }

  #queueFor(request: Request): RequestQueue<Waiting<Request>> {
    return this.#policy.isStaged(request) ? this.#stagedQueue : this.#queue;
  }

  /** Dispatches or refuses a request; false if it must wait. */
  #place(waiting: Waiting<Request>): boolean {
    const { request } = waiting;
    const { clock, random } = this.#ctx;
    const workers = this.#policy.pool(request, this.#view.model(this.model)?.workers ?? []);
    const selection = this.#selector.select(
      { nowMs: clock.nowMs(), promptTokens: request.promptTokens, ...this.#policy.rules(request) },
      candidatesOf(workers, this.bookings, this.#refusesUntilMs),
      random.number(),
    );
    if (selection.kind !== "selected") {
      const refusal = refusalOf(selection);
      if (refusal === null) return false;
      this.#refuse(request, refusal);
      return true;
    }
    this.#dispatch(waiting, selection, workers);
    return true;
  }

  #dispatch(waiting: Waiting<Request>, chosen: Chosen, workers: readonly WorkerView[]): void {
    const { request } = waiting;
    const worker = workers.find((candidate) => candidate.id === chosen.workerId);
    if (worker === undefined) {
      this.#refuse(request, new ServingError("worker_lost"));
      return;
    }
    try {
      const { verb, payload } = this.#policy.command(request, chosen, worker);
      this.#book(request, chosen);
      this.#ctx.bus.publish(this.#ctx.subjects.worker(verb, this.model, chosen.workerId), payload, {
        bounceKey: request.requestId,
      });
      this.counters.dispatched += 1;
      this.#tellDispatched(waiting, chosen);
    } catch (error) {
      this.#end(request.requestId);
      this.#refuse(request, ServingError.from(error));
    }
  }

  #book(request: Request, chosen: Chosen): void {
    const ctx = this.#ctx;
    const booking: Booking = {
      bookingId: request.requestId,
      routerId: ctx.id,
      frontendId: request.frontendId,
      workerId: chosen.workerId,
      generation: chosen.generation,
      dpRank: chosen.dpRank,
      blocks: request.blockHashes.byteLength / 8,
      promptTokens: request.promptTokens,
      overlapBlocks: chosen.overlapBlocks,
    };
    const outcome = this.bookings.book({ ...booking, atMs: ctx.clock.nowMs() });
    if (outcome === "full")
      throw new ServingError("overloaded", { problem: "the router's table of bookings is full" });
    this.#dispatched.set(request.requestId, headOf(request));
    ctx.bus.publish(ctx.subjects.booked(this.#policy.role, this.model), Booking.encode(booking));
  }

  #end(requestId: RequestId): void {
    this.bookings.release(requestId);
    this.#dispatched.delete(requestId);
  }

  #refuse(request: Request, error: ServingError): void {
    this.counters.refused += 1;
    this.#tellFailed(request, error);
  }

  #tellQueued(request: Request): void {
    const { id, generation } = this.#ctx;
    this.#tell("queued", request, () =>
      Queued.encode({
        ...headOf(request),
        leg: this.#policy.leg,
        routerId: id,
        routerGeneration: generation,
      }),
    );
  }

  #tellDispatched({ request, arrivedMs }: Waiting<Request>, chosen: Chosen): void {
    this.#tell("dispatched", request, () =>
      Dispatched.encode({
        ...headOf(request),
        leg: this.#policy.leg,
        routerId: this.#ctx.id,
        workerId: chosen.workerId,
        generation: chosen.generation,
        dpRank: chosen.dpRank,
        overlapBlocks: chosen.overlapBlocks,
        queuedMs: this.#ctx.clock.nowMs() - arrivedMs,
      }),
    );
  }

  #tellFailed(head: RequestHead, error: ServingError): void {
    this.#tell("failed", head, () =>
      LegFailed.encode({ ...headOf(head), leg: this.#policy.leg, actorId: this.#ctx.id, error }),
    );
  }

  /** A notice that cannot be sent is lost: with the bus down the Frontend's own deadline and liveness rules decide. */
  #tell(
    fact: "queued" | "dispatched" | "failed",
    head: RequestHead,
    encode: () => Uint8Array,
  ): void {
    const { bus, subjects, log } = this.#ctx;
    try {
      bus.publish(subjects.toFrontend(fact, this.model, head.frontendId), encode());
    } catch (error) {
      log.warn({ err: error, requestId: head.requestId, fact }, "notice not sent");
    }
  }
}

function headOf({ requestId, frontendId, frontendGeneration, stream }: RequestHead): RequestHead {
  return { requestId, frontendId, frontendGeneration, stream };
}

function queueRefusal(outcome: { readonly reason: string; readonly text: string }): ServingError {
  const problem = outcome.text;
  return outcome.reason === "deadline_passed"
    ? new ServingError("deadline_exceeded", { problem })
    : new ServingError("overloaded", { problem });
}
