import {
  ActorHeartbeat,
  actorId,
  actorRoles,
  namespaceName,
  type RequestState,
  type RequestTransition,
  RequestTransitions,
  Subjects,
  type TransitionDetails,
} from "@baton/protocol";
import {
  type Bus,
  connectNats,
  noMetrics,
  RealClock,
  readNatsAccess,
  silentLogger,
} from "@baton/runtime";
import { waitUntil } from "./wait-until.ts";

/** One state of one request, as its Frontend told everybody. */
export interface SeenState {
  readonly state: RequestState;
  readonly details: TransitionDetails;
  /** `performance.now()` at which it was heard. */
  readonly heardAtMs: number;
}

/** Hears life signs and requests' states, so that a test knows who runs, where, and how far a request is. */
export class BusWatch {
  readonly #bus: Bus;
  readonly #heartbeats = new Map<string, ActorHeartbeat>();
  readonly #statesById = new Map<string, SeenState[]>();
  readonly #idsByClientId = new Map<string, string>();

  /**
   * `natsCreds` is a file. With `onTransition` the state changes of requests go there and are not kept: those of some
   * hundred thousand requests would need more memory than the cluster.
   */
  static async join(
    nats: string,
    namespace: string,
    natsCreds?: string,
    onTransition?: (transition: RequestTransition) => void,
  ): Promise<BusWatch> {
    const subjects = new Subjects(namespaceName(namespace));
    const bus = await connectNats(
      readNatsAccess({ nats, natsCreds }),
      {
        id: actorId("test-watch"),
        subjects,
        clock: new RealClock(),
        log: silentLogger(),
        metrics: noMetrics,
      },
      AbortSignal.timeout(10_000),
    );
    return new BusWatch(bus, subjects, onTransition);
  }

  private constructor(
    bus: Bus,
    subjects: Subjects,
    onTransition: ((transition: RequestTransition) => void) | undefined,
  ) {
    this.#bus = bus;
    for (const role of actorRoles) {
      bus.subscribe(subjects.heartbeats(role), ({ payload }) => {
        const heartbeat = ActorHeartbeat.decode(payload);
        this.#heartbeats.set(heartbeat.id, heartbeat);
      });
    }
    const take = onTransition ?? ((transition) => this.#keep(transition));
    bus.subscribe(subjects.requestTransitionsAll(), ({ payload }) => {
      for (const transition of RequestTransitions.decode(payload).transitions) take(transition);
    });
  }

  /** The last life sign of an actor. */
  heartbeat(id: string): ActorHeartbeat | undefined {
    return this.#heartbeats.get(id);
  }

  /** The states so far of the request with this `x-request-id`. */
  states(clientId: string): readonly SeenState[] {
    return this.#statesById.get(this.#idsByClientId.get(clientId) ?? "") ?? [];
  }

  /** Waits until the request with this `x-request-id` has reached a state. */
  async untilState(clientId: string, state: RequestState, timeoutMs = 10_000): Promise<SeenState> {
    try {
      return await waitUntil(
        `${clientId} to be ${state}`,
        () => this.states(clientId).find((seen) => seen.state === state),
        { timeoutMs },
      );
    } catch (cause) {
      const seen = this.states(clientId).map((one) => one.state);
      throw new Error(`${clientId} was ${seen.join(", ")}, never ${state}`, { cause });
    }
  }

  close(): Promise<void> {
    return this.#bus.close();
  }

  #keep([id, state, , details]: RequestTransition): void {
    const states = this.#statesById.get(id) ?? [];
    states.push({ state, details, heardAtMs: performance.now() });
    this.#statesById.set(id, states);
    if (details.clientRequestId !== undefined) this.#idsByClientId.set(details.clientRequestId, id);
  }
}
