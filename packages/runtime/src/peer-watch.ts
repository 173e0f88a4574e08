import {
  ActorHeartbeat,
  type ActorId,
  type ActorRole,
  ProbeReply,
  ServingError,
} from "@baton/protocol";
import type { ActorContext } from "./actor.ts";
import type { BusListener, BusMessage } from "./bus/bus.ts";
import type { Timer } from "./clock.ts";

/** Another actor, as its last heartbeat described it. */
export interface Peer {
  readonly heartbeat: ActorHeartbeat;
  /** When it was last heard, by the watcher's clock. */
  readonly heardAtMs: number;
}

/** Why a peer is gone. */
export type LostWhy = "silent" | "no_responders" | "stopped" | "replaced";

/** What a watcher is told. Each peer is reported lost at most once between two of its life signs. */
export interface PeerListener {
  /** A peer is heard for the first time, with a new generation, in another state, or again after it was lost. */
  onAlive?(peer: Peer): void;
  /** Each life sign of a peer, after `onAlive` if that is called for it. */
  onBeat?(peer: Peer): void;
  /**
   * A peer is gone. `why`: `silent` (no heartbeat for the lease), `no_responders` (its probes found nobody),
   * `stopped` (it said goodbye), `replaced` (a later generation of the same id is heard).
   */
  onLost?(peer: Peer, why: LostWhy): void;
}

/** Whom to watch, and how closely. */
export interface PeerWatchOptions {
  readonly roles: readonly ActorRole[];
  /** Silence after which a peer is lost, in its own heartbeat intervals, default 4.4: 1.1 s at 250 ms. */
  readonly leaseIntervals?: number;
  /** Silence after which a peer is probed, in its own heartbeat intervals, default 1.8. */
  readonly probeIntervals?: number;
  /** Milliseconds between looks at all peers, default 50. */
  readonly sweepMs?: number;
  /** Whether those that fell silent are asked from time to time if they still listen: `beside` needs to know. Default no. */
  readonly asksLost?: boolean;
}

const defaultLeaseIntervals = 4.4;
/** Late enough to be rare, and early enough to know of a killed peer within 0.7 s. */
const defaultProbeIntervals = 1.8;
/** Silence of a peer, in its heartbeat intervals, that the bus must have answered after before the peer is blamed for it. */
const busAskIntervals = 2.2;
const defaultSweepMs = 50;
/** A look that is this many times too late shows that we stood still ourselves, so silence proves nothing. */
const stalledSweeps = 6;
/** How long probes must find nobody, ms: a peer that moves to another server is back before. */
const nobodyForMs = 100;
/** A peer that leaves a question unanswered for this long, ms, is not well. */
const unwellMs = 300;
/** How often those that fell silent are asked whether they still listen, ms, and for how long: that nobody does is said at once. */
const lostAskMs = 1_000;
const lostAnswerMs = 100;
/** A server that takes longer than this to answer stood still, and so may all that passes through it. */
const stalledBusMs = 300;
/** How long a lost peer is remembered: that it has said goodbye, and that it was lost. */
const forgetAfterMs = 120_000;

interface Watched {
  readonly role: ActorRole;
  readonly id: ActorId;
  heartbeat: ActorHeartbeat;
  heardAtMs: number;
  isLost: boolean;
  /** When the question that it has not answered yet was sent; null if there is none. */
  probedAtMs: number | null;
  /** Whether it was lost for its silence and may still be a subscriber that messages go to. */
  mayListen: boolean;
  lastProbeAtMs: number;
  /** When a probe first found nobody, if all have since. */
  nobodySinceMs: number | null;
}

/**
 * Knows which actors of some roles live. One timer for all of them. While the watcher's own bus is gone, within two
 * leases after, and after it stood still itself, nobody is declared lost for silence. Nor while the bus does not answer:
 * a server that hangs keeps its connections, and silences everybody at once.
 */
export class PeerWatch {
  readonly #context: Pick<ActorContext, "bus" | "clock" | "subjects" | "log">;
  readonly #options: PeerWatchOptions;
  readonly #listener: PeerListener;
  readonly #watched = new Map<ActorId, Watched>();
  readonly #subscriptions: BusListener[] = [];
  readonly #leaseIntervals: number;
  readonly #probeIntervals: number;
  readonly #sweepMs: number;
  #sweep: Timer | null = null;
  #lastSweepAtMs = 0;
  /** Silence counts from here at the earliest. */
  #hearingSinceMs = 0;
  /** From here on peers may still be on their way to the bus, for `#arrivalLeases`, and nobody is asked. */
  #connectedAtMs = 0;
  /** One lease at the start; after an outage of the own bus, which was maybe everybody's, two. */
  #arrivalLeases = 1;
  /** When the bus was last asked something that it has answered. */
  #busAskedAtMs = Number.NEGATIVE_INFINITY;
  #isAskingBus = false;

  constructor(
    context: Pick<ActorContext, "bus" | "clock" | "subjects" | "log">,
    options: PeerWatchOptions,
    listener: PeerListener = {},
  ) {
    this.#context = context;
    this.#options = options;
    this.#listener = listener;
    this.#leaseIntervals = options.leaseIntervals ?? defaultLeaseIntervals;
    this.#probeIntervals = options.probeIntervals ?? defaultProbeIntervals;
    this.#sweepMs = options.sweepMs ?? defaultSweepMs;
  }

  /** Begins to listen. Peers are known within one of their heartbeat intervals. */
  start(): void {
    if (this.#sweep !== null) return;
    const { bus, clock, subjects } = this.#context;
    for (const role of new Set(this.#options.roles)) {
      const listen = (message: BusMessage) => this.#onBeat(role, message.payload);
      this.#subscriptions.push(bus.subscribe(subjects.heartbeats(role), listen));
    }
    this.#subscriptions.push(
      bus.onState((state) => {
        if (state !== "connected") return;
        this.#arrivalLeases = 2;
        this.#hearingSinceMs = clock.nowMs();
        this.#connectedAtMs = clock.nowMs();
        this.#isAskingBus = false;
      }),
    );
    this.#hearingSinceMs = clock.nowMs();
    this.#connectedAtMs = clock.nowMs();
    this.#lastSweepAtMs = clock.nowMs();
    this.#sweep = clock.setRepeating(this.#sweepMs, () => this.#look());
  }

  /** Ends it. Nobody is told anything more. */
  stop(): void {
    this.#sweep?.cancel();
    this.#sweep = null;
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
  }

  /** Whether a peer lives, in this generation if one is given. */
  isAlive(id: string, generation?: number): boolean {
    const watched = this.#watched.get(id as ActorId);
    if (watched === undefined || watched.isLost) return false;
    return generation === undefined || watched.heartbeat.generation === generation;
  }

  /** Whether a peer was heard, and is lost. */
  hasLost(id: string): boolean {
    return this.#watched.get(id as ActorId)?.isLost === true;
  }

  /** A peer that lives. */
  peer(id: string): Peer | null {
    const watched = this.#watched.get(id as ActorId);
    return watched === undefined || watched.isLost ? null : asPeer(watched);
  }

  /** The peers that live, of one role or of all that are watched, in the order in which they were first heard. */
  peers(role?: ActorRole): readonly Peer[] {
    const peers: Peer[] = [];
    for (const watched of this.#watched.values()) {
      if (!watched.isLost && (role === undefined || watched.role === role)) {
        peers.push(asPeer(watched));
      }
    }
    return peers;
  }

  /**
   * The peers of a role that are well and ready, while another may still get its share of what goes to all of them and does
   * nothing with it: it hangs, or is cut off and the server has not noticed. Null while there is no such peer.
   */
  beside(role: ActorRole): readonly Peer[] | null {
    const nowMs = this.#context.clock.nowMs();
    let isAnyUnwell = false;
    for (const watched of this.#watched.values()) {
      if (watched.role === role && isUnwell(watched, nowMs)) isAnyUnwell = true;
    }
    if (!isAnyUnwell) return null;
    return [...this.#watched.values()]
      .filter((one) => one.role === role && !one.isLost && !isUnwell(one, nowMs))
      .filter(({ heartbeat }) => heartbeat.state === "ready")
      .map(asPeer);
  }

  /**
   * Asks the peers of a role whether they live, however lately they were heard: for those who wait for one of them. One
   * that is killed is lost at the second answer that nobody is there, a tenth of a second after the first.
   */
  ask(role: ActorRole): void {
    if (this.#context.bus.state !== "connected") return;
    const nowMs = this.#context.clock.nowMs();
    for (const watched of this.#watched.values()) {
      if (watched.role !== role || watched.isLost || watched.probedAtMs !== null) continue;
      const leaseMs = this.#leaseIntervals * watched.heartbeat.intervalMs;
      if (this.#mayArrive(leaseMs, nowMs)) continue;
      this.#probe(watched, leaseMs).catch(() => undefined); // the outcome is in the record
    }
  }

  /**
   * Of two starts with one id the later counts, while it lives. An earlier one that is heard after its loss was started
   * with a clock that had been set back, or has run beside it.
   */
  #onBeat(role: ActorRole, payload: Uint8Array): void {
    const heartbeat = ActorHeartbeat.decode(payload);
    const id = heartbeat.id as ActorId;
    const watched = this.#watched.get(id);
    if (watched === undefined) {
      if (heartbeat.state !== "stopped") this.#add(role, id, heartbeat);
    } else if (heartbeat.generation === watched.heartbeat.generation) {
      this.#renew(watched, heartbeat);
    } else if (heartbeat.generation > watched.heartbeat.generation || watched.isLost) {
      this.#replace(watched, heartbeat);
    }
  }

  #add(role: ActorRole, id: ActorId, heartbeat: ActorHeartbeat): void {
    const watched: Watched = {
      role,
      id,
      heartbeat,
      heardAtMs: this.#context.clock.nowMs(),
      isLost: false,
      probedAtMs: null,
      mayListen: false,
      lastProbeAtMs: Number.NEGATIVE_INFINITY,
      nobodySinceMs: null,
    };
    this.#watched.set(id, watched);
    this.#tellAlive(watched);
    this.#tellBeat(watched);
  }

  #replace(watched: Watched, heartbeat: ActorHeartbeat): void {
    if (!watched.isLost) this.#lose(watched, "replaced");
    this.#watched.delete(watched.id);
    if (heartbeat.state !== "stopped") this.#add(watched.role, watched.id, heartbeat);
  }

  #renew(watched: Watched, heartbeat: ActorHeartbeat): void {
    if (watched.isLost && watched.heartbeat.state === "stopped") return;
    const hasChanged = watched.isLost || watched.heartbeat.state !== heartbeat.state;
    watched.heartbeat = heartbeat;
    watched.heardAtMs = this.#context.clock.nowMs();
    watched.nobodySinceMs = null;
    if (heartbeat.state === "stopped") {
      if (!watched.isLost) this.#lose(watched, "stopped");
      return;
    }
    watched.isLost = false;
    watched.mayListen = false;
    if (hasChanged) this.#tellAlive(watched);
    this.#tellBeat(watched);
  }

  #look(): void {
    const nowMs = this.#context.clock.nowMs();
    const hasStoodStill = nowMs - this.#lastSweepAtMs > stalledSweeps * this.#sweepMs;
    this.#lastSweepAtMs = nowMs;
    if (hasStoodStill) this.#hearingSinceMs = nowMs;
    if (this.#context.bus.state !== "connected") return;
    for (const watched of [...this.#watched.values()]) {
      if (watched.isLost) this.#lookAtLost(watched, nowMs);
      else this.#lookAt(watched, nowMs);
    }
  }

  #lookAt(watched: Watched, nowMs: number): void {
    const intervalMs = watched.heartbeat.intervalMs;
    const leaseMs = this.#leaseIntervals * intervalMs;
    if (this.#mayArrive(leaseMs, nowMs)) return;
    const silentMs = nowMs - watched.heardAtMs;
    const probeMs = this.#probeIntervals * intervalMs;
    if (silentMs < probeMs) return;
    const busAskMs = busAskIntervals * intervalMs;
    const hasBusAnswered = this.#busAskedAtMs >= watched.heardAtMs + busAskMs;
    if (silentMs >= busAskMs && !hasBusAnswered && !this.#isAskingBus) {
      this.#askBus(nowMs).catch(() => undefined); // the next look asks again
    }
    if (silentMs >= leaseMs && nowMs - this.#hearingSinceMs >= leaseMs) {
      if (hasBusAnswered) this.#lose(watched, "silent");
    } else if (watched.probedAtMs === null) {
      this.#probe(watched, leaseMs).catch(() => undefined); // the outcome is in the record
    }
  }

  #mayArrive(leaseMs: number, nowMs: number): boolean {
    return nowMs - this.#connectedAtMs < this.#arrivalLeases * leaseMs;
  }

  async #askBus(askedAtMs: number): Promise<void> {
    const { bus, clock } = this.#context;
    this.#isAskingBus = true;
    try {
      await bus.flush();
      this.#busAskedAtMs = Math.max(this.#busAskedAtMs, askedAtMs);
      const nowMs = clock.nowMs();
      if (nowMs - askedAtMs > stalledBusMs) this.#hearingSinceMs = nowMs;
    } finally {
      this.#isAskingBus = false;
    }
  }

  async #probe(watched: Watched, timeoutMs: number): Promise<void> {
    const { bus, clock, subjects } = this.#context;
    const heardAtMs = watched.heardAtMs;
    watched.probedAtMs = clock.nowMs();
    watched.lastProbeAtMs = watched.probedAtMs;
    try {
      const subject = subjects.probe(watched.role, watched.id);
      const reply = ProbeReply.decode(await bus.request(subject, new Uint8Array(0), { timeoutMs }));
      watched.nobodySinceMs = null;
      if (reply.generation === watched.heartbeat.generation) watched.heardAtMs = clock.nowMs();
    } catch (error) {
      const hasNobody = error instanceof ServingError && error.code === "no_responders";
      const isStillSilent = watched.heardAtMs === heardAtMs;
      if (hasNobody && isStillSilent && this.#isKnown(watched)) this.#foundNobody(watched);
    } finally {
      watched.probedAtMs = null;
    }
  }

  #foundNobody(watched: Watched): void {
    const nowMs = this.#context.clock.nowMs();
    if (watched.isLost) {
      watched.mayListen = false;
      return;
    }
    watched.nobodySinceMs ??= nowMs;
    if (nowMs - watched.nobodySinceMs >= nobodyForMs) this.#lose(watched, "no_responders");
  }

  /** Nothing is known of a watcher that was stopped or a record that was replaced meanwhile. */
  #isKnown(watched: Watched): boolean {
    return this.#sweep !== null && this.#watched.get(watched.id) === watched;
  }

  /** One that hangs is a subscriber until the server drops it, and one that was cut off until the server notices. */
  #lookAtLost(watched: Watched, nowMs: number): void {
    const { mayListen, probedAtMs, lastProbeAtMs } = watched;
    if (mayListen && probedAtMs === null && nowMs - lastProbeAtMs >= lostAskMs) {
      this.#probe(watched, lostAnswerMs).catch(() => undefined); // the outcome is in the record
    }
    if (!mayListen && nowMs - watched.heardAtMs > forgetAfterMs) this.#watched.delete(watched.id);
  }

  #lose(watched: Watched, why: LostWhy): void {
    watched.isLost = true;
    watched.mayListen = why === "silent" && this.#options.asksLost === true;
    this.#context.log.info({ peer: watched.id, role: watched.role, why }, "peer lost");
    this.#tell(() => this.#listener.onLost?.(asPeer(watched), why));
  }

  #tellAlive(watched: Watched): void {
    const { id, heartbeat } = watched;
    this.#context.log.debug({ peer: id, role: watched.role, state: heartbeat.state }, "peer alive");
    this.#tell(() => this.#listener.onAlive?.(asPeer(watched)));
  }

  #tellBeat(watched: Watched): void {
    this.#tell(() => this.#listener.onBeat?.(asPeer(watched)));
  }

  /** A listener's failure must not keep others from being told. */
  #tell(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#context.log.error({ err: error }, "peer listener failed");
    }
  }
}

function isUnwell({ isLost, mayListen, probedAtMs }: Watched, nowMs: number): boolean {
  if (isLost) return mayListen;
  return probedAtMs !== null && nowMs - probedAtMs >= unwellMs;
}

function asPeer(watched: Watched): Peer {
  return { heartbeat: watched.heartbeat, heardAtMs: watched.heardAtMs };
}
