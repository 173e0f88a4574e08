import type { ActorId, RequestId } from "@baton/protocol";
import type { RequestRecord } from "./request-record.ts";

/** Every request that runs or is staged here, by id and by Frontend. */
export class RequestTable {
  readonly #byId = new Map<RequestId, RequestRecord>();
  readonly #byFrontend = new Map<ActorId, Set<RequestRecord>>();
  /** Told when the last request has ended. */
  #onEmpty: (() => void)[] = [];

  get size(): number {
    return this.#byId.size;
  }

  get(id: RequestId): RequestRecord | undefined {
    return this.#byId.get(id);
  }

  ids(): RequestId[] {
    return [...this.#byId.keys()];
  }

  /** A copy, so that the caller may end what it walks over. */
  all(): RequestRecord[] {
    return [...this.#byId.values()];
  }

  /** A Frontend's requests of its generations up to one. */
  ofFrontend(id: ActorId, generation: number): RequestRecord[] {
    const records = this.#byFrontend.get(id);
    if (records === undefined) return [];
    return [...records].filter((record) => record.head.frontendGeneration <= generation);
  }

  /** Frontends that have requests here. */
  frontends(): ActorId[] {
    return [...this.#byFrontend.keys()];
  }

  add(record: RequestRecord): void {
    this.#byId.set(record.head.requestId, record);
    const others = this.#byFrontend.get(record.head.frontendId);
    if (others === undefined) this.#byFrontend.set(record.head.frontendId, new Set([record]));
    else others.add(record);
  }

  remove(record: RequestRecord): void {
    if (!this.#byId.delete(record.head.requestId)) return;
    const others = this.#byFrontend.get(record.head.frontendId);
    others?.delete(record);
    if (others?.size === 0) this.#byFrontend.delete(record.head.frontendId);
    if (this.#byId.size > 0) return;
    const waiting = this.#onEmpty;
    this.#onEmpty = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when nothing runs or is staged. */
  whenEmpty(): Promise<void> {
    if (this.#byId.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
    });
  }
}
