// Hot path: `take` runs once per request and leg. Budget 20 µs with 16 workers, 100 µs with 1,000. Bench: bench/model-desk.bench.ts
import type { ClusterView, WorkerView } from "@baton/cluster-view";
import {
  type Bookings,
  createBookings,
  type Enqueued,
  type Selection,
  type WorkerSelector,
} from "@baton/kv-router";
import {
  type ActorId,
  Booking,
  type LoadReport,
  type ModelName,
  type RequestHead,
  type RequestId,
  ServingError,
} from "@baton/protocol";
import { type ActorContext, RecentIds } from "@baton/runtime";
import { CandidateTable } from "./candidate-table.ts";
import { DeskNotices, headOf } from "./desk-notices.ts";
import type { Chosen, DeskLimits, DeskPolicy, DeskRequest } from "./desk-policy.ts";
import { refusalOf } from "./refusal.ts";
import type { RouterMetrics } from "./router-metrics.ts";
import { SentCommands } from "./sent-commands.ts";
import { type Placed, type Waiting, WaitingRoom } from "./waiting-room.ts";

/** What a desk is given. */
export interface DeskDeps<Request extends DeskRequest> {
  readonly ctx: ActorContext;
  readonly view: ClusterView;
  readonly policy: DeskPolicy<Request>;
  readonly selector: WorkerSelector;
  readonly metrics: RouterMetrics;
}

/** Ids of requests that are over are remembered: a cancel, or a worker's word, may overtake what it ends. */
const recentlyOver = { limit: 65_536, keepMs: 5_000 };
/** A bounce comes within a round trip; this is for a bus that stands still for a moment. */
const bounceTimeMs = 5_000;
/** Heartbeats after the bus is back in which a worker that cannot be reached may be on its way back too: one lease. */
const returnIntervals = 4.4;
/** Reading the clock twice and counting costs a tenth of a choice among few workers. */
const choicesPerSample = 16;

/** Routes the requests of one model and leg: queues, chooses, books, dispatches, and hears the end. */
export class ModelDesk<Request extends DeskRequest> {
  readonly model: ModelName;
  readonly #deps: DeskDeps<Request>;
  readonly #limits: DeskLimits;
  readonly #bookings: Bookings;
  readonly #candidates: CandidateTable;
  readonly #notices: DeskNotices;
  readonly #waiting: WaitingRoom<Request>;
  readonly #over = new RecentIds<RequestId>(recentlyOver);
  readonly #sent = new SentCommands(bounceTimeMs);
  #areWorkersKnown = false;
  #choices = 0;
  /** Until then nobody is called lost for not being back on the bus. */
  #pardonUntilMs = 0;

  constructor(
    options: { readonly model: ModelName; readonly limits: DeskLimits },
    deps: DeskDeps<Request>,
  ) {
    const { model, limits } = options;
    this.model = model;
    this.#limits = limits;
    this.#deps = deps;
    this.#bookings = createBookings({ limit: limits.bookingLimit, graceMs: limits.bookingGraceMs });
    this.#candidates = new CandidateTable(this.#bookings);
    this.#notices = new DeskNotices({ model, leg: deps.policy.leg }, deps.ctx);
    this.#waiting = new WaitingRoom(limits.queueLimit);
  }

  /** Requests that wait. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** Requests booked on workers, by whichever router. */
  get booked(): number {
    return this.#bookings.size;
  }

  /**
   * Takes a request: dispatches it, lets it wait, or refuses it. Whichever it is, its Frontend hears of it. One that is
   * over or dispatched already is dropped.
   */
  take(request: Request): void {
    const { requestId } = request;
    const arrivedMs = this.#deps.ctx.clock.nowMs();
    if (this.#over.has(requestId, arrivedMs) || this.#bookings.get(requestId) !== undefined) return;
    const { policy } = this.#deps;
    const waiting: Waiting<Request> = {
      request,
      arrivedMs,
      isStaged: policy.isStaged(request),
      kind: kindOf(policy.workerType(request), request),
    };
    if (!this.#waiting.isStuck(waiting.kind) && this.#place(waiting) === "left") return;
    const outcome = this.#waiting.enter(waiting);
    if (outcome.kind === "refused") {
      if (outcome.reason !== "duplicate") this.#refuse(request, queueRefusal(outcome));
    } else {
      this.#notices.queued(request);
    }
  }

  /** Ends requests wherever they are here. */
  cancel(requestIds: readonly RequestId[]): void {
    const nowMs = this.#deps.ctx.clock.nowMs();
    for (const requestId of requestIds) {
      this.#over.add(requestId, nowMs);
      this.#waiting.cancel(requestId);
      this.#end(requestId);
    }
    this.pump();
  }

  /** Hears a booking of another router. */
  hear(booking: Booking): void {
    const nowMs = this.#deps.ctx.clock.nowMs();
    if (this.#over.has(booking.bookingId, nowMs)) return;
    // Nobody would end a booking on a worker that is gone. One on a worker not yet listed is learned from its reports.
    const worker = this.#deps.view.worker(booking.workerId);
    if (worker?.generation !== booking.generation || worker.state === "lost") return;
    this.#book(booking, nowMs);
  }

  /** Hears what a worker of the role says it runs. */
  reported(report: LoadReport): void {
    const nowMs = this.#deps.ctx.clock.nowMs();
    const { workerId } = report;
    const bookedBefore = this.#bookings.size;
    for (const bookingId of report.endedBookings) {
      const holder = this.#bookings.get(bookingId)?.workerId ?? workerId;
      if (holder !== workerId) continue;
      this.#over.add(bookingId, nowMs);
      this.#end(bookingId);
    }
    const hasEnded = this.#bookings.size < bookedBefore;
    const { liveBookings } = report;
    const mends = liveBookings !== null && this.#reconcile(report, liveBookings, nowMs);
    this.#candidates.report(report);
    if (hasEnded || mends) this.pump();
  }

  /** Workers have come, gone, or changed their state. */
  workersChanged(): void {
    this.#areWorkersKnown = false;
    this.pump();
  }

  /** Forgets what a lost worker ran: its Frontends notice by themselves. */
  workerLost(worker: WorkerView): void {
    this.#bookings.dropWorker(worker.id, worker.generation);
    this.#candidates.forgetRefusal(worker.id);
    this.workersChanged();
  }

  /** Forgets a lost Frontend's requests, waiting and booked. */
  frontendLost(frontendId: ActorId, generation: number): void {
    for (const { workerId } of this.#bookings.dropFrontend(frontendId, generation)) {
      this.#candidates.recount(workerId);
    }
    this.#sent.dropFrontend(frontendId, generation);
    this.#waiting.dropFrontend(frontendId, generation);
    this.pump();
  }

  /** A dispatched command found nobody. */
  undeliverable(requestId: RequestId): void {
    const command = this.#sent.take(requestId);
    if (command === undefined) return;
    const { ctx, metrics } = this.#deps;
    const { workerId } = command;
    const nowMs = ctx.clock.nowMs();
    this.#over.add(requestId, nowMs);
    this.#end(requestId);
    const mayReturn = nowMs < this.#pardonUntilMs;
    const refusalMs = mayReturn ? ctx.heartbeatMs : this.#limits.refusalMs;
    this.#candidates.refuse(workerId, nowMs + refusalMs);
    metrics.undeliverable();
    const error = mayReturn
      ? new ServingError("bus_unavailable", { problem: `${workerId} is not back on the bus yet` })
      : new ServingError("worker_lost", { workerId });
    this.#notices.failed(command.head, error);
    this.pump();
  }

  /** Places what waits as far as there is room. Without the bus nobody could hear of it. */
  pump(): void {
    if (this.#waiting.isIdle || !this.#isConnected) return;
    this.#waiting.place((waiting) => this.#place(waiting));
  }

  /** Refuses what has waited too long, and forgets what is too old to matter. */
  sweep(): void {
    const nowMs = this.#deps.ctx.clock.nowMs();
    this.#sent.forgetOld(nowMs);
    this.#over.forgetOld(nowMs);
    this.#candidates.forgetOldRefusals(nowMs);
    if (!this.#isConnected) return;
    for (const request of this.#waiting.expire(nowMs)) {
      this.#refuse(request, new ServingError("deadline_exceeded"));
    }
    this.pump();
  }

  /** Refuses a request that came too late. */
  refuse(request: Request, error: ServingError): void {
    this.#refuse(request, error);
  }

  /** The bus was gone and is back: refuses what waited. For one lease workers may still be on their way back. */
  busIsBack(): void {
    const { clock, heartbeatMs } = this.#deps.ctx;
    this.#pardonUntilMs = clock.nowMs() + returnIntervals * heartbeatMs;
    const problem = "the router lost the bus while the request waited";
    this.refuseAll(new ServingError("bus_unavailable", { problem }));
  }

  /** Refuses everything that waits. */
  refuseAll(error: ServingError): void {
    for (const request of this.#waiting.clear()) this.#refuse(request, error);
  }

  get #isConnected(): boolean {
    return this.#deps.ctx.bus.state === "connected";
  }

  /** Dispatches or refuses a request, or lets it wait. */
  #place(waiting: Waiting<Request>): Placed {
    if (!this.#isConnected) return "waits";
    const { request } = waiting;
    try {
      const selection = this.#select(waiting);
      const refusal = selection.kind === "selected" ? null : refusalOf(selection);
      if (selection.kind === "selected") this.#dispatch(waiting, selection);
      else if (refusal === null) return "waits";
      else this.#refuse(request, refusal);
    } catch (error) {
      // Whatever went wrong, the request must end: nothing has been sent to a worker.
      this.#end(request.requestId);
      this.#refuse(request, ServingError.from(error));
    }
    return "left";
  }

  #select({ request }: Waiting<Request>): Selection {
    const { ctx, policy, selector, metrics } = this.#deps;
    this.#knowWorkers();
    this.#choices += 1;
    const nowMs = ctx.clock.nowMs();
    const all = this.#candidates.of(policy.workerType(request));
    const selection = selector.select(
      {
        nowMs,
        promptTokens: request.promptTokens,
        blockSize: 1,
        promptBlocks: request.sequenceHashes.byteLength / 8,
        stage: "decode",
        ...policy.rules(request),
      },
      policy.narrow?.(request, all) ?? all,
      ctx.random.number(),
    );
    if (this.#choices % choicesPerSample === 0) {
      metrics.selected((ctx.clock.nowMs() - nowMs) / 1_000);
    }
    return selection;
  }

  #knowWorkers(): void {
    if (this.#areWorkersKnown) return;
    const workers = this.#deps.view.model(this.model)?.workers ?? [];
    this.#candidates.rebuild(workers);
    this.#deps.policy.follow?.(workers);
    this.#areWorkersKnown = true;
  }

  /** Throws before anything is sent, or not at all. */
  #dispatch({ request, arrivedMs }: Waiting<Request>, chosen: Chosen): void {
    const { ctx, policy, metrics } = this.#deps;
    const { bus, subjects, clock } = ctx;
    const { requestId } = request;
    const worker = this.#candidates.worker(chosen.workerId);
    if (worker === undefined) throw new ServingError("worker_lost", { workerId: chosen.workerId });
    const { verb, payload } = policy.command(request, chosen, worker);
    if (payload.byteLength > bus.maxMessageBytes) {
      throw new ServingError("payload_too_large", { bytes: payload.byteLength });
    }
    const booking = bookingOf(request, ctx.id, chosen);
    const nowMs = clock.nowMs();
    if (this.#book(booking, nowMs) === "full") {
      throw new ServingError("overloaded", { problem: "the router's table of bookings is full" });
    }
    bus.publish(subjects.booked(policy.role, this.model), Booking.encode(booking));
    bus.publish(subjects.worker(verb, this.model, chosen.workerId), payload, {
      bounceKey: requestId,
    });
    this.#sent.add({ head: headOf(request), workerId: chosen.workerId, atMs: nowMs });
    metrics.dispatched();
    this.#notices.dispatched(request, chosen, nowMs - arrivedMs);
  }

  #book(booking: Booking, atMs: number): ReturnType<Bookings["book"]> {
    const { bookingId, frontendId, frontendGeneration, blocks, promptTokens } = booking;
    const { workerId, generation, dpRank } = booking;
    const rank = { workerId, generation, dpRank };
    const who = { bookingId, frontendId, frontendGeneration };
    const entry = { ...who, ...rank, blocks, promptTokens, atMs };
    const outcome = this.#bookings.book(entry);
    this.#candidates.recount(workerId);
    return outcome;
  }

  /** Takes over all that a worker says it runs. True if that ended a booking. */
  #reconcile(report: LoadReport, liveBookings: readonly RequestId[], nowMs: number): boolean {
    const { workerId, generation } = report;
    const dpRank = this.#deps.view.worker(workerId)?.registration.capacity.dpStartRank ?? 0;
    const unknown = { dpRank: null, promptBlocks: null, prefillTokens: null, outputTokens: null };
    const live = liveBookings.map((bookingId) => ({ bookingId, ...unknown }));
    const { ended } = this.#bookings.reconcile({ workerId, generation, live, dpRank }, nowMs);
    this.#candidates.recount(workerId);
    return ended.length > 0;
  }

  #end(requestId: RequestId): void {
    this.#sent.take(requestId);
    const entry = this.#bookings.release(requestId);
    if (entry !== undefined) this.#candidates.recount(entry.workerId);
  }

  #refuse(head: RequestHead, error: ServingError): void {
    this.#deps.metrics.refused(error.code);
    this.#notices.failed(head, error);
  }
}

function bookingOf(request: DeskRequest, routerId: ActorId, chosen: Chosen): Booking {
  return {
    bookingId: request.requestId,
    routerId,
    frontendId: request.frontendId,
    workerId: chosen.workerId,
    generation: chosen.generation,
    dpRank: chosen.dpRank,
    blocks: request.blockHashes.byteLength / 8,
    promptTokens: request.promptTokens,
    overlapBlocks: chosen.overlapBlocks,
    prefillTokens: 0,
    sequenceHashes: new Uint8Array(),
    expectedOutputTokens: request.rules?.expectedOutputTokens ?? null,
    frontendGeneration: request.frontendGeneration,
  };
}

function kindOf(workerType: string, { rules }: DeskRequest): string {
  return rules === null ? workerType : `${workerType} ${JSON.stringify(rules)}`;
}

function queueRefusal(outcome: Extract<Enqueued<unknown>, { kind: "refused" }>): ServingError {
  const problem = outcome.text;
  return outcome.reason === "deadline_passed"
    ? new ServingError("deadline_exceeded", { problem })
    : new ServingError("overloaded", { problem });
}
