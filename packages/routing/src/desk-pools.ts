/** Hot path: several times a request, each a few microseconds. */
import type { WorkerView } from "@baton/cluster-view";
import type { BookingEntry, SessionBinding, WorkerCandidate } from "@baton/kv-router";
import {
  type ActorId,
  type Booking,
  type LoadReport,
  type ModelName,
  type RequestId,
  ServingError,
  SessionBound,
  type WorkerId,
  type WorkerType,
} from "@baton/protocol";
import type { DeskLimits, DeskRequest } from "./desk-policy.ts";
import { liveBookings } from "./live-bookings.ts";
import type { DeskDeps } from "./model-desk.ts";
import type { LoadedPolicy } from "./policy/load-policy.ts";
import { Pool } from "./pool.ts";

/** Whose desk it is. */
export interface DeskOptions {
  readonly model: ModelName;
  readonly limits: DeskLimits;
}

/** The pools that one desk chooses from: their workers, what is booked on them, and the sessions that go there. */
export class DeskPools<Request extends DeskRequest> {
  readonly #model: ModelName;
  readonly #limits: DeskLimits;
  readonly #deps: DeskDeps<Request>;
  readonly #pools = new Map<WorkerType, Pool>();
  #areWorkersKnown = false;

  constructor({ model, limits }: DeskOptions, deps: DeskDeps<Request>) {
    this.#model = model;
    this.#limits = limits;
    this.#deps = deps;
    const { ctx, loaded, openFeed, policy } = deps;
    for (const workerType of policy.workerTypes) {
      const pool: Pool = new Pool(loaded, {
        workerType,
        routerId: ctx.id,
        limits,
        openFeed: (target) => openFeed(model, target),
        onForgotten: (entries) => this.#dropped(pool, entries),
        warn: (problem) =>
          ctx.log.warn({ model, workerType, problem }, "odd routing configuration"),
      });
      this.#pools.set(workerType, pool);
    }
  }

  /** Requests booked on workers, by whichever router. */
  get booked(): number {
    let booked = 0;
    for (const { core } of this.#pools.values()) booked += core.booked;
    return booked;
  }

  /** Sessions known, of all pools. */
  get sessions(): number {
    let known = 0;
    for (const { sessions } of this.#pools.values()) known += sessions.size;
    return known;
  }

  /** A pool, with its workers as they are. Throws `internal` if the desk does not choose workers of that type. */
  of(workerType: WorkerType): Pool {
    this.#knowWorkers();
    const pool = this.#pools.get(workerType);
    if (pool !== undefined) return pool;
    throw new ServingError("internal", { problem: `no pool of ${workerType} workers` });
  }

  setPolicy(loaded: LoadedPolicy): void {
    for (const pool of this.#pools.values()) pool.setPolicy(loaded);
    this.workersChanged();
  }

  /** Workers have come, gone, or changed their state. */
  workersChanged(): void {
    this.#areWorkersKnown = false;
    this.#knowWorkers();
  }

  close(): void {
    for (const pool of this.#pools.values()) pool.close();
  }

  isBooked(requestId: RequestId): boolean {
    for (const { core } of this.#pools.values()) {
      if (core.get(requestId) !== undefined) return true;
    }
    return false;
  }

  /** Hears a booking of another router. */
  hear(booking: Booking): void {
    // Nobody would end a booking on a worker that is gone. One on a worker not yet listed is learned from its reports.
    const worker = this.#deps.view.worker(booking.workerId);
    if (worker?.generation !== booking.generation || worker.state === "lost") return;
    this.#knowWorkers();
    this.#pools.get(worker.workerType)?.core.book({ ...booking, atMs: this.#nowMs });
  }

  /** Hears from another router where a session goes. */
  hearSession(bound: SessionBound): void {
    this.#knowWorkers();
    const pool = this.#pools.get(bound.workerType);
    const worker = pool?.worker(bound.workerId);
    const { dpStartRank, dpSize } = worker?.registration.capacity ?? { dpStartRank: 0, dpSize: 0 };
    const hasRank = bound.dpRank >= dpStartRank && bound.dpRank < dpStartRank + dpSize;
    const isKnown = hasRank && worker?.generation === bound.generation;
    pool?.sessions.hear(bound, isKnown, this.#nowMs);
  }

  /**
   * Hears what a worker says of its load and of what it runs. Returns the requests that it says have ended, and whether
   * room has come.
   */
  reported(
    worker: WorkerView,
    report: LoadReport,
  ): { readonly ended: readonly RequestId[]; readonly hasRoom: boolean } {
    this.#knowWorkers();
    const pool = this.#pools.get(worker.workerType);
    if (pool === undefined) return { ended: [], hasRoom: false };
    const { core } = pool;
    const { workerId } = report;
    const nowMs = this.#nowMs;
    const bookedBefore = core.booked;
    for (const bookingId of report.prefilledBookings) {
      if (core.get(bookingId)?.workerId === workerId) core.prefillCompleted(bookingId, nowMs);
    }
    if (report.refusedBookings.length > 0) core.refuse(workerId, nowMs + this.#limits.refusalMs);
    // What it says of a request that another worker runs is about an attempt that is over.
    const ended = report.endedBookings.filter(
      (bookingId) => (core.get(bookingId)?.workerId ?? workerId) === workerId,
    );
    for (const bookingId of ended) this.#release(pool, bookingId);
    const live = liveBookings(report);
    if (live !== null) this.#dropped(pool, core.reconcile(report, live, nowMs));
    core.reported(report);
    return { ended, hasRoom: core.booked < bookedBefore };
  }

  /** Leaves a worker out until then. */
  refuse(workerId: WorkerId, untilMs: number): void {
    for (const { core } of this.#pools.values()) core.refuse(workerId, untilMs);
  }

  /** Where a request of a session went. */
  commit(
    pool: Pool,
    requestId: RequestId,
    target: Pick<WorkerCandidate, "workerId" | "generation" | "dpRank">,
  ): void {
    this.#tell(pool, pool.sessions.commit(requestId, target, this.#nowMs));
  }

  /** A request is over, booked or not. */
  end(requestId: RequestId): void {
    for (const pool of this.#pools.values()) this.#release(pool, requestId);
  }

  /** A request leaves without being dispatched. */
  leave(requestId: RequestId): void {
    for (const pool of this.#pools.values()) this.#endSession(pool, requestId);
  }

  /** Forgets what a lost worker ran. */
  dropWorker({ id, generation }: WorkerView): void {
    for (const pool of this.#pools.values()) {
      this.#dropped(pool, pool.core.dropWorker(id, generation, this.#nowMs));
      pool.core.forgetRefusal(id);
    }
    this.workersChanged();
  }

  /** Forgets what a lost Frontend asked for. */
  dropFrontend(frontendId: ActorId, generation: number): void {
    for (const pool of this.#pools.values()) {
      this.#dropped(pool, pool.core.dropFrontend(frontendId, generation, this.#nowMs));
    }
  }

  /** Forgets what is too old to matter. */
  sweep(): void {
    const nowMs = this.#nowMs;
    for (const pool of this.#pools.values()) {
      this.#dropped(pool, pool.core.sweep(nowMs));
      pool.sessions.sweep(nowMs);
    }
  }

  get #nowMs(): number {
    return this.#deps.ctx.clock.nowMs();
  }

  #knowWorkers(): void {
    if (this.#areWorkersKnown) return;
    this.#areWorkersKnown = true;
    const { policy, view } = this.#deps;
    const workers = view.model(this.#model)?.workers ?? [];
    for (const pool of this.#pools.values()) {
      pool.setWorkers(workers, policy.usesKvEvents(pool.workerType, workers));
    }
    policy.follow?.(workers);
  }

  #release(pool: Pool, requestId: RequestId): void {
    pool.core.release(requestId, this.#nowMs);
    this.#endSession(pool, requestId);
  }

  /** Bookings have ended otherwise than by a word about them. */
  #dropped(pool: Pool, entries: readonly BookingEntry[]): void {
    for (const { bookingId } of entries) this.#endSession(pool, bookingId);
  }

  #endSession(pool: Pool, requestId: RequestId): void {
    this.#tell(pool, pool.sessions.end(requestId, this.#nowMs));
  }

  /** A word that cannot be sent is lost: the binding is this router's alone then. */
  #tell({ workerType }: Pool, binding: SessionBinding | null): void {
    const { ctx, policy } = this.#deps;
    if (binding === null || ctx.bus.state !== "connected") return;
    const bound: SessionBound = { routerId: ctx.id, workerType, ...binding };
    const subject = ctx.subjects.sessionBound(policy.role, this.#model);
    ctx.bus.publish(subject, SessionBound.encode(bound));
  }
}
