/** Hot path: looked up once per entry of a token frame. */
import type { ActorId, Leg, ModelName, RequestHead, RequestId, WorkerId } from "@baton/protocol";
import type { RelayedRequest } from "./relayed-request.ts";

const streamCount = 2 ** 32;

/** A request that ended before its workers did. */
export interface EndedEarly {
  readonly requestId: RequestId;
  readonly model: ModelName;
  readonly atMs: number;
}

/** How many of those are remembered; the oldest go first. */
const maxEndedEarly = 4_096;

/** The live requests: by stream, and by the workers that work on them. Holds as many as the relay lets in. */
export class RequestTable {
  /** In order of arrival. */
  readonly live = new Map<number, RelayedRequest>();
  readonly #frontendId: ActorId;
  readonly #generation: number;
  readonly #atWorker = new Map<WorkerId, Set<RelayedRequest>>();
  readonly #endedEarly = new Map<number, EndedEarly>();
  #nextStream = 1;

  constructor(frontendId: ActorId, generation: number) {
    this.#frontendId = frontendId;
    this.#generation = generation;
  }

  /** A u32 that no live request has, and that none had for a long time. */
  newStream(): number {
    while (this.live.has(this.#nextStream)) this.#nextStream = (this.#nextStream + 1) % streamCount;
    const stream = this.#nextStream;
    this.#nextStream = (stream + 1) % streamCount;
    return stream;
  }

  /** What a request's messages start with. */
  headOf(request: Pick<RelayedRequest, "id" | "stream">): RequestHead {
    return {
      requestId: request.id,
      frontendId: this.#frontendId,
      frontendGeneration: this.#generation,
      stream: request.stream,
    };
  }

  /** Whether a message was meant for this generation of the Frontend. */
  isOfThisLife(frontendGeneration: number): boolean {
    return frontendGeneration === this.#generation;
  }

  /** The request that a message is for; undefined if it is over, or was an earlier life's or another's. */
  find(head: RequestHead): RelayedRequest | undefined {
    if (!this.isOfThisLife(head.frontendGeneration)) return undefined;
    const request = this.live.get(head.stream);
    return request?.id === head.requestId ? request : undefined;
  }

  add(request: RelayedRequest): void {
    this.live.set(request.stream, request);
  }

  /** A worker has one of the request's legs. The first word counts: a leg is dispatched once. */
  assign(request: RelayedRequest, leg: Leg, workerId: WorkerId, generation: number): void {
    const progress = request.legs[leg];
    if (progress.workerId !== null) return;
    progress.workerId = workerId;
    progress.generation = generation;
    const others = this.#atWorker.get(workerId);
    if (others === undefined) this.#atWorker.set(workerId, new Set([request]));
    else others.add(request);
  }

  /** The requests of which a worker has a leg. A copy: they may end while it is read. */
  at(workerId: WorkerId): readonly RelayedRequest[] {
    return [...(this.#atWorker.get(workerId) ?? [])];
  }

  /** Whether a worker has any request's leg. */
  isUsed(workerId: WorkerId): boolean {
    return this.#atWorker.has(workerId);
  }

  /** The workers that have a leg of some request. */
  workers(): readonly WorkerId[] {
    return [...this.#atWorker.keys()];
  }

  /** Remembers a request whose workers may not know yet that it is over. */
  rememberEnded(request: RelayedRequest, atMs: number): void {
    const { id, model, stream } = request;
    this.#endedEarly.set(stream, { requestId: id, model, atMs });
    if (this.#endedEarly.size <= maxEndedEarly) return;
    for (const oldest of this.#endedEarly.keys()) {
      this.#endedEarly.delete(oldest);
      return;
    }
  }

  /** A request of this stream that ended early, while it is remembered. */
  endedEarly(stream: number): EndedEarly | undefined {
    return this.#endedEarly.get(stream);
  }

  forgetEnded(stream: number): void {
    this.#endedEarly.delete(stream);
  }

  remove(request: RelayedRequest): void {
    this.live.delete(request.stream);
    this.#leave(request, request.legs.prefill.workerId);
    this.#leave(request, request.legs.decode.workerId);
  }

  #leave(request: RelayedRequest, workerId: WorkerId | null): void {
    if (workerId === null) return;
    const others = this.#atWorker.get(workerId);
    others?.delete(request);
    if (others?.size === 0) this.#atWorker.delete(workerId);
  }
}
