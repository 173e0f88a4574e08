// Hot path: `take` runs once per request and leg. Budget 20 µs with 16 workers, 100 µs with 1,000. Bench: bench/model-desk.bench.ts
import type { ClusterView, WorkerView } from "@baton/cluster-view";
import type { Enqueued, Selection } from "@baton/kv-router";
import {
  type ActorId,
  Booking,
  type LoadReport,
  type ModelName,
  type RequestHead,
  type RequestId,
  type RouteExplained,
  ServingError,
  type SessionBound,
} from "@baton/protocol";
import { type ActorContext, RecentIds } from "@baton/runtime";
import { DeskNotices, headOf } from "./desk-notices.ts";
import type { Chosen, DeskLimits, DeskPolicy, DeskRequest } from "./desk-policy.ts";
import { type DeskOptions, DeskPools } from "./desk-pools.ts";
import { explainRoute, unexplained } from "./explain-route.ts";
import type { LoadedPolicy } from "./policy/load-policy.ts";
import type { FeedTarget, IndexFeed, Pool, PoolRequest } from "./pool.ts";
import { refusalOf } from "./refusal.ts";
import type { RouterMetrics } from "./router-metrics.ts";
import { SentCommands } from "./sent-commands.ts";
import { type Placed, type Waiting, WaitingRoom } from "./waiting-room.ts";

/** What a desk is given. */
export interface DeskDeps<Request extends DeskRequest> {
  readonly ctx: ActorContext;
  readonly view: ClusterView;
  readonly policy: DeskPolicy<Request>;
  /** How workers are chosen, until `setPolicy`. */
  readonly loaded: LoadedPolicy;
  readonly metrics: RouterMetrics;
  /** Begins to follow the model's KV feed into a pool's index. */
  openFeed(model: ModelName, target: FeedTarget): IndexFeed;
}

/** Ids of requests that are over are remembered: a cancel, or a worker's word, may overtake what it ends. */
const recentlyOver = { limit: 65_536, keepMs: 5_000 };
/** A bounce comes within a round trip; this is for a bus that stands still for a moment. */
const bounceTimeMs = 5_000;
/** Heartbeats after the bus is back in which a worker that cannot be reached may be on its way back too: one lease. */
const returnIntervals = 4.4;
const hashBytes = 8;
/** Reading the clock twice and counting costs a tenth of a choice among few workers. */
const choicesPerSample = 16;

/** Routes the requests of one model and leg: queues, chooses, books, dispatches, and hears the end. */
export class ModelDesk<Request extends DeskRequest> {
  readonly model: ModelName;
  readonly #deps: DeskDeps<Request>;
  readonly #limits: DeskLimits;
  readonly #pools: DeskPools<Request>;
  readonly #notices: DeskNotices;
  readonly #waiting: WaitingRoom<Request>;
  readonly #over = new RecentIds<RequestId>(recentlyOver);
  readonly #sent = new SentCommands(bounceTimeMs);
  #choices = 0;
  /** Until then nobody is called lost for not being back on the bus. */
  #pardonUntilMs = 0;

  constructor(options: DeskOptions, deps: DeskDeps<Request>) {
    const { model, limits } = options;
    this.model = model;
    this.#limits = limits;
    this.#deps = deps;
    this.#pools = new DeskPools(options, deps);
    this.#notices = new DeskNotices({ model, leg: deps.policy.leg }, deps.ctx);
    this.#waiting = new WaitingRoom(limits.queueLimit);
  }

  /** Requests that wait. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** Requests booked on workers, by whichever router. */
  get booked(): number {
    return this.#pools.booked;
  }

  /** Sessions that are bound to a worker, or being bound. Those that are over may count until they are swept. */
  get sessions(): number {
    return this.#pools.sessions;
  }

  /** Chooses by another policy from the next choice on. */
  setPolicy(loaded: LoadedPolicy): void {
    this.#pools.setPolicy(loaded);
    this.pump();
  }

  /** Lets go of what it follows. */
  close(): void {
    this.#pools.close();
  }

  /**
   * Takes a request: dispatches it, lets it wait, or refuses it. Whichever it is, its Frontend hears of it. One that is
   * over or dispatched already is dropped.
   */
  take(request: Request): void {
    const { requestId } = request;
    const arrivedMs = this.#deps.ctx.clock.nowMs();
    if (this.#over.has(requestId, arrivedMs) || this.#pools.isBooked(requestId)) return;
    const { policy } = this.#deps;
    const isStaged = policy.isStaged(request);
    const waiting: Waiting<Request> = {
      request,
      arrivedMs,
      isStaged,
      kind: kindOf(policy.workerType(request), isStaged, request),
      boundKind: null,
    };
    if (this.#placeAtOnce(waiting) === "left") return;
    const outcome = this.#waiting.enter(waiting);
    if (outcome.kind === "refused") {
      if (outcome.reason !== "duplicate") this.#refuse(request, queueRefusal(outcome));
    } else {
      this.#notices.queued(request);
    }
  }

  /** Where a request would go, and why. Books and sends nothing. */
  explain(request: Request): RouteExplained {
    const { ctx, policy } = this.#deps;
    try {
      return explainRoute({
        request,
        policy,
        routerId: ctx.id,
        pool: this.#poolFor(request),
        asked: this.#asked(request),
        random: ctx.random.number(),
      });
    } catch (error) {
      return unexplained(ctx.id, ServingError.from(error));
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
    if (!this.#over.has(booking.bookingId, nowMs)) this.#pools.hear(booking);
  }

  /** Hears from another router where a session goes. */
  hearSession(bound: SessionBound): void {
    this.#pools.hearSession(bound);
  }

  /** Hears what a worker of the role says it runs. */
  reported(worker: WorkerView, report: LoadReport): void {
    const nowMs = this.#deps.ctx.clock.nowMs();
    const { ended, hasRoom } = this.#pools.reported(worker, report);
    for (const requestId of ended) {
      this.#over.add(requestId, nowMs);
      this.#sent.take(requestId);
    }
    if (hasRoom) this.pump();
  }

  /** Workers have come, gone, or changed their state. */
  workersChanged(): void {
    this.#pools.workersChanged();
    this.pump();
  }

  /** Forgets what a lost worker ran: its Frontends notice by themselves. */
  workerLost(worker: WorkerView): void {
    this.#pools.dropWorker(worker);
    this.workersChanged();
  }

  /** Forgets a lost Frontend's requests, waiting and booked. One that only had no CPU for a while is told which it need not wait for. */
  frontendLost(frontendId: ActorId, generation: number): void {
    const problem = `${this.#deps.ctx.id} has not heard the Frontend for its lease`;
    const unheard = new ServingError("bus_unavailable", { problem });
    this.#pools.dropFrontend(frontendId, generation);
    this.#sent.dropFrontend(frontendId, generation);
    for (const request of this.#waiting.dropFrontend(frontendId, generation)) {
      this.#pools.leave(request.requestId);
      this.#notices.failed(request, unheard);
    }
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
    this.#pools.refuse(workerId, nowMs + refusalMs);
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
    this.#pools.sweep();
    if (!this.#isConnected) return;
    for (const request of this.#waiting.expire(nowMs)) {
      this.#refuse(request, new ServingError("deadline_exceeded"));
    }
    this.#waiting.forgetBound();
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

  /** Room that has come by itself is for those whose KV is staged. */
  #placeAtOnce(waiting: Waiting<Request>): Placed {
    if (this.#waiting.isStuck(waiting)) return "waits";
    if (!waiting.isStaged && this.#waiting.hasStaged) this.pump();
    return this.#waiting.isStuck(waiting) ? "waits" : this.#place(waiting);
  }

  /** Dispatches or refuses a request, or lets it wait. */
  #place(waiting: Waiting<Request>): Placed {
    if (!this.#isConnected) return "waits";
    const { request } = waiting;
    try {
      const asked = this.#asked(request);
      const selection = this.#select(waiting, asked);
      if (selection === null) return "waits";
      const refusal = refusalFrom(selection, waiting.isStaged);
      if (refusal !== null) this.#refuse(request, refusal);
      else if (isChosen(selection)) this.#dispatch(waiting, asked, selection);
      else {
        this.#waiting.stick(waiting);
        return "waits";
      }
    } catch (error) {
      // Whatever went wrong, the request must end: nothing has been sent to a worker.
      this.#end(request.requestId);
      this.#refuse(request, ServingError.from(error));
    }
    return "left";
  }

  /** Chooses; null if another request of the session is choosing, or where the session is there is no room. */
  #select(waiting: Waiting<Request>, asked: PoolRequest): Selection | ServingError | null {
    const { ctx, policy, metrics } = this.#deps;
    const { request } = waiting;
    this.#choices += 1;
    const pool = this.#poolFor(request);
    const all = pool.core.candidates(pool.workerType);
    const candidates = policy.narrow?.(request, all) ?? all;
    const { requestId, rules } = request;
    const outcome = pool.sessions.ask(requestId, rules?.session, asked, candidates);
    if (outcome.kind === "wait") return null;
    if (outcome.kind === "refused") return outcome.error;
    const bound = asked.pin === undefined ? outcome.rule.pin?.workerId : undefined;
    waiting.boundKind = bound === undefined ? null : `${waiting.kind} ${bound}`;
    if (this.#waiting.isStuck(waiting)) return null;
    if (bound !== undefined && pool.isFull(bound)) {
      this.#waiting.stick(waiting);
      return null;
    }
    const selection = pool.choose(
      { ...asked, ...outcome.rule },
      ctx.random.number(),
      () => candidates,
    );
    if (this.#choices % choicesPerSample === 0) {
      metrics.selected((ctx.clock.nowMs() - asked.nowMs) / 1_000);
    }
    return selection;
  }

  #asked(request: Request): PoolRequest {
    const { ctx, policy } = this.#deps;
    const expectedOutputTokens = request.rules?.expectedOutputTokens;
    return {
      nowMs: ctx.clock.nowMs(),
      promptTokens: request.promptTokens,
      promptBlocks: request.sequenceHashes.byteLength / hashBytes,
      sequenceHashes: request.sequenceHashes,
      stage: policy.stage(request),
      ...policy.rules(request),
      ...(expectedOutputTokens === undefined ? {} : { expectedOutputTokens }),
    };
  }

  #poolFor(request: Request): Pool {
    return this.#pools.of(this.#deps.policy.workerType(request));
  }

  /** Throws before anything is sent, or not at all. */
  #dispatch({ request, arrivedMs }: Waiting<Request>, asked: PoolRequest, chosen: Chosen): void {
    const { ctx, policy, metrics } = this.#deps;
    const { bus, subjects, clock } = ctx;
    const { requestId } = request;
    const pool = this.#poolFor(request);
    const worker = pool.worker(chosen.workerId);
    if (worker === undefined) throw new ServingError("worker_lost", { workerId: chosen.workerId });
    const { verb, payload } = policy.command(request, chosen, worker);
    if (payload.byteLength > bus.maxMessageBytes) {
      throw new ServingError("payload_too_large", { bytes: payload.byteLength });
    }
    const share = pool.share(asked, chosen.cachedTokens);
    const booking: Booking = { ...bookingOf(request, ctx.id, chosen), ...share };
    const nowMs = clock.nowMs();
    const booked = pool.core.book({ ...booking, atMs: nowMs });
    if (booked === "duplicate") return; // it came twice, and is on its way
    if (booked === "full") {
      throw new ServingError("overloaded", { problem: "the router's table of bookings is full" });
    }
    bus.publish(subjects.booked(policy.role, this.model), Booking.encode(booking));
    bus.publish(subjects.worker(verb, this.model, chosen.workerId), payload, {
      bounceKey: requestId,
    });
    this.#sent.add({ head: headOf(request), workerId: chosen.workerId, atMs: nowMs });
    metrics.dispatched();
    if (!policy.isStaged(request)) {
      metrics.cachedTokens(this.model, pool.workerType, {
        best: chosen.bestOverlapBlocks * pool.blockSize,
        selected: chosen.overlapBlocks * pool.blockSize,
      });
    }
    this.#notices.dispatched(request, chosen, nowMs - arrivedMs);
    this.#pools.commit(pool, requestId, chosen);
  }

  #end(requestId: RequestId): void {
    this.#sent.take(requestId);
    this.#pools.end(requestId);
  }

  #refuse(head: RequestHead, error: ServingError): void {
    this.#pools.leave(head.requestId);
    this.#deps.metrics.refused(error.code);
    this.#notices.failed(head, error);
  }
}

function isChosen(selection: Selection | ServingError): selection is Chosen {
  return !(selection instanceof ServingError) && selection.kind === "selected";
}

/** The error that ends the request; null if it goes on, or may wait. */
function refusalFrom(selection: Selection | ServingError, isStaged: boolean): ServingError | null {
  if (selection instanceof ServingError) return selection;
  return selection.kind === "selected" ? null : refusalOf(selection, isStaged);
}

function bookingOf(
  request: DeskRequest,
  routerId: ActorId,
  chosen: Chosen,
): Omit<Booking, "prefillTokens" | "sequenceHashes"> {
  return {
    bookingId: request.requestId,
    routerId,
    frontendId: request.frontendId,
    workerId: chosen.workerId,
    generation: chosen.generation,
    dpRank: chosen.dpRank,
    blocks: request.blockHashes.byteLength / hashBytes,
    promptTokens: request.promptTokens,
    overlapBlocks: chosen.overlapBlocks,
    expectedOutputTokens: request.rules?.expectedOutputTokens ?? null,
    frontendGeneration: request.frontendGeneration,
  };
}

/** What decides where a request may go, its session aside. */
function kindOf(workerType: string, isStaged: boolean, { rules }: DeskRequest): string {
  const leg = isStaged ? `staged ${workerType}` : workerType;
  if (rules === null) return leg;
  const { session: _session, overrides: _overrides, expectedOutputTokens: _, ...where } = rules;
  return Object.keys(where).length === 0 ? leg : `${leg} ${JSON.stringify(where)}`;
}

function queueRefusal(outcome: Extract<Enqueued<unknown>, { kind: "refused" }>): ServingError {
  const problem = outcome.text;
  return outcome.reason === "deadline_passed"
    ? new ServingError("deadline_exceeded", { problem })
    : new ServingError("overloaded", { problem });
}
