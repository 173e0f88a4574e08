import type { ActorId } from "@baton/protocol";
import { type ActorContext, PeerWatch, type Timer } from "@baton/runtime";
import type { RequestTable } from "./request-table.ts";

/** A Frontend that sends work and no heartbeat is given up after this. */
const strangerMs = 3_000;
/** Work of one that is lost, which a router dispatched before it knew: one that is back after all says so within this many heartbeats. */
const returnBeats = 2;
const lookMs = 100;

/** What the leases act on. */
export interface FrontendLeasesDeps {
  readonly context: ActorContext;
  readonly requests: RequestTable;
  /** A Frontend, in its generations up to this one, is gone. */
  readonly onLost: (id: ActorId, generation: number) => void;
}

/**
 * Notices Frontends that are gone, by their heartbeats, so that nothing is held for them. One that never was heard counts
 * as gone after 3 s, one that was lost before its work came after two heartbeats, but not while this worker's own bus is down.
 */
export class FrontendLeases {
  readonly #deps: FrontendLeasesDeps;
  readonly #watch: PeerWatch;
  readonly #strangers = new Map<ActorId, number>();
  #looks: Timer | null = null;

  constructor(deps: FrontendLeasesDeps) {
    this.#deps = deps;
    this.#watch = new PeerWatch(
      deps.context,
      { roles: ["frontend"] },
      {
        onLost: ({ heartbeat }) => deps.onLost(heartbeat.id as ActorId, heartbeat.generation),
        // An earlier life may have left work here without ever having been heard.
        onAlive: ({ heartbeat }) => deps.onLost(heartbeat.id as ActorId, heartbeat.generation - 1),
      },
    );
  }

  start(): void {
    this.#watch.start();
    this.#looks = this.#deps.context.clock.setRepeating(lookMs, () => this.#look());
  }

  stop(): void {
    this.#watch.stop();
    this.#looks?.cancel();
    this.#looks = null;
  }

  /** Whether a later life of the Frontend is known: this one's work is nobody's. */
  isReplaced(id: ActorId, generation: number): boolean {
    return (this.#watch.peer(id)?.heartbeat.generation ?? 0) > generation;
  }

  #look(): void {
    const { context, requests, onLost } = this.#deps;
    if (context.bus.state !== "connected") {
      this.#strangers.clear();
      return;
    }
    const nowMs = context.clock.nowMs();
    const present = requests.frontends();
    for (const id of this.#strangers.keys()) {
      if (!present.includes(id)) this.#strangers.delete(id);
    }
    for (const id of present) {
      if (this.#watch.isAlive(id)) {
        this.#strangers.delete(id);
        continue;
      }
      const sinceMs = this.#strangers.get(id) ?? nowMs;
      this.#strangers.set(id, sinceMs);
      const isLost = this.#watch.hasLost(id);
      if (nowMs - sinceMs < (isLost ? returnBeats * context.heartbeatMs : strangerMs)) continue;
      this.#strangers.delete(id);
      context.log.warn(
        { frontendId: id },
        isLost ? "frontend is not back" : "frontend was never heard",
      );
      onLost(id, Number.POSITIVE_INFINITY);
    }
  }
}
