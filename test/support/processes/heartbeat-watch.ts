import { ActorHeartbeat, actorId, actorRoles, namespaceName, Subjects } from "@baton/protocol";
import { type Bus, connectNats, noMetrics, RealClock, silentLogger } from "@baton/runtime";

/** Hears every actor's life signs, so that a test knows who runs and where its ports are. */
export class HeartbeatWatch {
  readonly #bus: Bus;
  readonly #heard = new Map<string, ActorHeartbeat>();

  static async join(nats: string, namespace: string): Promise<HeartbeatWatch> {
    const subjects = new Subjects(namespaceName(namespace));
    const bus = await connectNats(
      { url: nats },
      {
        id: actorId("test-watch"),
        subjects,
        clock: new RealClock(),
        log: silentLogger(),
        metrics: noMetrics,
      },
      AbortSignal.timeout(10_000),
    );
    return new HeartbeatWatch(bus, subjects);
  }

  private constructor(bus: Bus, subjects: Subjects) {
    this.#bus = bus;
    for (const role of actorRoles) {
      bus.subscribe(subjects.heartbeats(role), ({ payload }) => this.#hear(payload));
    }
  }

  /** The last life sign of an actor. */
  of(id: string): ActorHeartbeat | undefined {
    return this.#heard.get(id);
  }

  close(): Promise<void> {
    return this.#bus.close();
  }

  #hear(payload: Uint8Array): void {
    const heartbeat = ActorHeartbeat.decode(payload);
    this.#heard.set(heartbeat.id, heartbeat);
  }
}
