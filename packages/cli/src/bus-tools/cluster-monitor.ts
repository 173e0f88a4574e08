import { CatalogFollower } from "@baton/cluster-view";
import { ActorHeartbeat, actorRoles, Catalog, type Subjects } from "@baton/protocol";
import { type Bus, type BusListener, type Clock, defaultHeartbeatMs } from "@baton/runtime";
import { type ClusterStatus, statusOf } from "./status.ts";

/** A heartbeat, and when it was heard. */
interface Heard {
  readonly heartbeat: ActorHeartbeat;
  readonly atMs: number;
}

/** An actor that is silent for so many of its own intervals is shown as lost. */
const lostAfterIntervals = 6;
/** One that has said goodbye, or is lost, is shown for this long. */
const forgetAfterMs = 600_000;
const catalogTimeoutMs = 1_000;

/** Follows everybody's heartbeats and the catalog, so that a status is there at once. */
export class ClusterMonitor {
  readonly #bus: Bus;
  readonly #subjects: Subjects;
  readonly #clock: Clock;
  readonly #heard = new Map<string, Heard>();
  readonly #subscriptions: BusListener[] = [];
  readonly #follower = new CatalogFollower(defaultHeartbeatMs);
  #isAsking = false;

  constructor(deps: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock }) {
    this.#bus = deps.bus;
    this.#subjects = deps.subjects;
    this.#clock = deps.clock;
  }

  start(): void {
    for (const role of actorRoles) {
      this.#subscriptions.push(
        this.#bus.subscribe(this.#subjects.heartbeats(role), ({ payload }) => this.#hear(payload)),
      );
    }
    this.#subscriptions.push(
      this.#bus.subscribe(this.#subjects.catalogPublished(), ({ payload }) =>
        this.#take(Catalog.decode(payload)),
      ),
      this.#bus.requestMany(this.#subjects.ping(), new Uint8Array(0), (payload) =>
        this.#hear(payload),
      ),
    );
  }

  stop(): void {
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
  }

  /** Everybody's last heartbeat, with those that fell silent as lost. */
  heartbeats(): readonly ActorHeartbeat[] {
    const nowMs = this.#clock.nowMs();
    const heartbeats: ActorHeartbeat[] = [];
    for (const [key, { heartbeat, atMs }] of this.#heard) {
      const silentMs = nowMs - atMs;
      if (silentMs > forgetAfterMs) this.#heard.delete(key);
      else
        heartbeats.push(isLost(heartbeat, silentMs) ? { ...heartbeat, state: "lost" } : heartbeat);
    }
    return heartbeats;
  }

  status(): ClusterStatus {
    return statusOf(this.heartbeats(), this.#follower.held);
  }

  #hear(payload: Uint8Array): void {
    const heartbeat = ActorHeartbeat.decode(payload);
    const key = `${heartbeat.role} ${heartbeat.id}`;
    if ((this.#heard.get(key)?.heartbeat.generation ?? 0) > heartbeat.generation) return;
    this.#heard.set(key, { heartbeat, atMs: this.#clock.nowMs() });
    if (heartbeat.role === "discovery" && this.#follower.hear(heartbeat, this.#clock.nowMs())) {
      this.#ask();
    }
  }

  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#bus
      .request(this.#subjects.getCatalog(), new Uint8Array(0), { timeoutMs: catalogTimeoutMs })
      .then((payload) => this.#take(Catalog.decode(payload)))
      // Discovery's next heartbeat asks again.
      .catch(() => undefined)
      .finally(() => {
        this.#isAsking = false;
      });
  }

  #take(catalog: Catalog): void {
    this.#follower.offer(catalog, this.#clock.nowMs());
  }
}

function isLost(heartbeat: ActorHeartbeat, silentMs: number): boolean {
  return heartbeat.state !== "stopped" && silentMs > lostAfterIntervals * heartbeat.intervalMs;
}
