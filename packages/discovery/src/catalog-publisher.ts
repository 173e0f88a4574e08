import { Catalog } from "@baton/protocol";
import type { ActorContext, Timer } from "@baton/runtime";
import type { Registry } from "./registry/registry.ts";
import { toCatalog } from "./registry/to-catalog.ts";

/** What a publisher is given. */
export interface CatalogPublisherDeps {
  readonly context: Pick<ActorContext, "bus" | "clock" | "generation" | "log" | "subjects">;
  readonly namespace: string;
  readonly registry: Registry;
  /** Whether this Discovery is the one that speaks. */
  speaks(): boolean;
  onPublished(): void;
}

/** Changes within this time go out as one catalog. */
const coalesceMs = 5;
/** In a big namespace a catalog is long: so many workers add one ms to the wait. */
const workersPerMs = 20;

/** Keeps the catalog's bytes, gives each change a revision, and sends them out, many changes at once. */
export class CatalogPublisher {
  readonly #deps: CatalogPublisherDeps;
  #revision = 0;
  #isComplete = false;
  #shownVersion = 0;
  #shownComplete = false;
  #bytes: Uint8Array = new Uint8Array();
  #isOwed = false;
  #timer: Timer | null = null;

  constructor(deps: CatalogPublisherDeps) {
    this.#deps = deps;
  }

  /** What has been published last. */
  get mark(): { readonly epoch: number; readonly revision: number; readonly complete: boolean } {
    const epoch = this.#deps.context.generation;
    return { epoch, revision: this.#revision, complete: this.#shownComplete };
  }

  /** Every worker has had the time to come back. */
  complete(): void {
    this.#isComplete = true;
    this.touch();
  }

  /** Something may have changed: if so it is published soon. */
  touch(): void {
    const { registry, context } = this.#deps;
    if (this.#timer !== null || !this.#isStale()) return;
    const waitMs = coalesceMs + registry.size / workersPerMs;
    this.#timer = context.clock.setTimer(waitMs, () => this.flush());
  }

  /** Another Discovery spoke until here, or the bus was away: what is known goes out again. */
  republish(): void {
    this.#isOwed = true;
    this.touch();
  }

  /** Publishes what has changed, at once. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#isStale() || !this.#deps.speaks()) return;
    this.#write();
    this.#send();
  }

  /** The newest catalog's bytes; its changes are published before anybody is told of them. */
  current(): Uint8Array {
    this.flush();
    if (this.#revision === 0) this.#write();
    return this.#bytes;
  }

  /** Publishes nothing more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #isStale(): boolean {
    return (
      this.#isOwed ||
      this.#shownVersion !== this.#deps.registry.version ||
      this.#shownComplete !== this.#isComplete
    );
  }

  #write(): void {
    const { registry, namespace } = this.#deps;
    const hasChanged =
      this.#shownVersion !== registry.version || this.#shownComplete !== this.#isComplete;
    if (!hasChanged && this.#revision > 0) return;
    this.#revision += 1;
    this.#shownVersion = registry.version;
    this.#shownComplete = this.#isComplete;
    this.#bytes = Catalog.encode(toCatalog(registry, { namespace, ...this.mark }));
  }

  #send(): void {
    const { bus, log, subjects } = this.#deps.context;
    try {
      bus.publish(subjects.catalogPublished(), this.#bytes);
      this.#isOwed = false;
      this.#deps.onPublished();
    } catch (error) {
      // Followers see in the next heartbeat that they are behind, and ask; `republish` tells the others.
      this.#isOwed = false;
      log.debug({ err: error }, "catalog not published");
    }
  }
}
