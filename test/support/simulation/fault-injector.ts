import type { RequestState } from "@baton/protocol";
import type { BusWatch } from "./bus-watch.ts";
import type { KvThief } from "./kv-thief.ts";
import type { PlannedFault } from "./plan.ts";
import type { SimClient } from "./sim-client.ts";
import type { SimCluster } from "./sim-cluster.ts";
import type { Visitor } from "./visitor.ts";

/** What an injector acts on, and whom it tells. */
export interface FaultParts {
  readonly cluster: SimCluster;
  readonly visitor: Visitor;
  readonly thief: KvThief;
  readonly watch: BusWatch;
  readonly clients: ReadonlyMap<string, SimClient>;
  readonly note: (text: string) => void;
  /** Whether nothing new goes wrong any more. */
  readonly isHealed: () => boolean;
  /** Whether all are back already, and perhaps gone again. */
  readonly isOver: () => boolean;
}

/** Absences of up to this many ms are shorter than what the others take for a loss. */
const shortMs = 900;

/** Makes planned faults happen, and counts which states of requests they met. */
export class FaultInjector {
  /** Faults that met at least one request in a state, by `<what> | <state>`; `idle` where no request was concerned. */
  readonly hits: Record<string, number> = {};
  readonly #parts: FaultParts;
  readonly #aiming: PlannedFault[] = [];

  constructor(parts: FaultParts) {
    this.#parts = parts;
  }

  /** Its time has come: it strikes, or begins to aim. */
  begin(fault: PlannedFault): void {
    if (fault.aims === undefined) this.#strike(fault);
    else this.#aiming.push(fault);
  }

  /** A request has entered a state. */
  onState(requestId: string, state: RequestState): void {
    const index = this.#aiming.findIndex(({ aims }) => aims === state);
    const [fault] = index < 0 ? [] : this.#aiming.splice(index, 1);
    if (fault === undefined) return;
    // What is under way of this very message is not disturbed by what it causes.
    this.#parts.cluster.clock.setTimer(0, () => {
      if (!this.#parts.isHealed()) this.#strike(this.#aimedAt(fault, requestId));
    });
  }

  /** At the one who has the request, if somebody of the fault's role has. */
  #aimedAt(fault: PlannedFault, requestId: string): PlannedFault {
    if (!("id" in fault)) return fault;
    const { clients, cluster, watch } = this.#parts;
    const role = cluster.process(fault.id)?.role;
    const holder =
      role === "frontend"
        ? clients.get(requestId)?.frontend?.id
        : watch.workersOf(requestId).at(-1);
    const isHeld = role === "frontend" || role === "worker";
    return isHeld && holder !== undefined ? { ...fault, id: holder } : fault;
  }

  #strike(fault: PlannedFault): void {
    this.#parts.note("id" in fault ? `${nameOf(fault)} ${fault.id}` : nameOf(fault));
    this.#count(fault);
    this.#begin(fault);
    const endsAfterMs = "forMs" in fault ? fault.forMs : null;
    if (endsAfterMs === null) return;
    this.#parts.cluster.clock.setTimer(endsAfterMs, () => {
      if (this.#parts.isOver()) return;
      this.#parts.note("id" in fault ? `end of ${fault.kind} ${fault.id}` : `end of ${fault.kind}`);
      this.#end(fault);
    });
  }

  /** A client goes away. */
  left(client: SimClient): void {
    const how = client.planned.leaves?.kind === "reading" ? "slow reader cut" : "client leaves";
    this.#add(how, this.#parts.watch.stateOf(client.requestId));
  }

  #begin(fault: PlannedFault): void {
    const { cluster, thief, visitor } = this.#parts;
    switch (fault.kind) {
      case "kill":
        cluster.kill(fault.id);
        this.#startLater(fault);
        return;
      case "drain":
        cluster.drain(fault.id);
        this.#startLater(fault);
        return;
      case "pause":
        cluster.pause(fault.id);
        return;
      case "disconnect":
        cluster.disconnect(fault.id);
        return;
      case "cut-way":
        cluster.cutWay(fault.id, fault.way);
        return;
      case "loss":
        cluster.lose(fault.id, fault.share);
        return;
      case "engine-loss":
        cluster.loseEngine(fault.id, fault.forMs);
        return;
      case "engine-failure":
        cluster.failEngine(fault.id);
        return;
      case "pull-trouble":
        cluster.troublePulls(fault.id, fault.how);
        return;
      case "stolen-ticket":
        thief.waitForTicket(fault.how);
        return;
      case "server-stop":
        cluster.stopServer();
        return;
      case "garbage":
        visitor.sayOn(fault.row, fault.bytes);
        return;
    }
  }

  #end(fault: PlannedFault): void {
    const { cluster } = this.#parts;
    switch (fault.kind) {
      case "pause":
        cluster.resume(fault.id);
        return;
      case "disconnect":
        cluster.reconnect(fault.id);
        return;
      case "cut-way":
        cluster.healWay(fault.id);
        return;
      case "loss":
        cluster.lose(fault.id, 0);
        return;
      case "engine-failure":
        cluster.mendEngine(fault.id);
        return;
      case "pull-trouble":
        cluster.troublePulls(fault.id, null);
        return;
      case "server-stop":
        cluster.startServer();
        return;
      default:
        return;
    }
  }

  #startLater({ backAfterMs, id }: { backAfterMs: number | null; id: string }): void {
    const { cluster, isOver, note } = this.#parts;
    if (backAfterMs === null) return;
    cluster.clock.setTimer(backAfterMs, () => {
      if (isOver()) return;
      note(`start ${id}`);
      cluster.restart(id);
    });
  }

  #count(fault: PlannedFault): void {
    const { clients, cluster, watch } = this.#parts;
    const role = "id" in fault ? cluster.process(fault.id)?.role : undefined;
    const what = role === undefined ? nameOf(fault) : `${nameOf(fault)} ${role}`;
    const states = new Set<string>();
    for (const client of clients.values()) {
      if (client.isOpen && (!("id" in fault) || this.#concerns(fault.id, client))) {
        states.add(watch.stateOf(client.requestId));
      }
    }
    if (states.size === 0) states.add("idle");
    for (const state of states) this.#add(what, state);
  }

  /** A Frontend's own requests, those that were dispatched to a worker, and all where anybody may ask the actor. */
  #concerns(id: string, { frontend, requestId }: SimClient): boolean {
    const { cluster, watch } = this.#parts;
    const role = cluster.process(id)?.role;
    if (role === "frontend") return frontend?.id === id;
    return role !== "worker" || watch.workersOf(requestId).includes(id);
  }

  #add(what: string, state: string): void {
    const key = `${what} | ${state}`;
    this.hits[key] = (this.hits[key] ?? 0) + 1;
  }
}

/** A fault's kind with what makes another kind of trouble of it. */
export function nameOf(fault: PlannedFault): string {
  switch (fault.kind) {
    case "pause":
    case "disconnect":
    case "server-stop":
      return `${fault.kind} (${fault.forMs <= shortMs ? "short" : "long"})`;
    case "cut-way":
      return `${fault.kind} ${fault.way}`;
    case "loss":
      return fault.share === 1 ? "split" : "loss";
    case "pull-trouble":
    case "stolen-ticket":
      return `${fault.kind} ${fault.how}`;
    case "kill":
    case "drain":
      return fault.backAfterMs === null ? fault.kind : `${fault.kind} and start`;
    default:
      return fault.kind;
  }
}
