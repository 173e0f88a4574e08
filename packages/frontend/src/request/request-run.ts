/** Hot path: one a request, about eight events each. Budget 45 µs a request. Bench: bench/request/request-run.bench.ts */
import type { RequestState } from "@baton/protocol";
import { initialTransition, type SnapshotFrom, transition } from "xstate";
import { moveKey, type RequestEvent, requestMachine } from "./machine.ts";

/** Who acts on a request's states. Called synchronously, in order, once for each state that is entered or passed. */
export interface RequestEffects {
  /** `event`: what led there; null for the first state. */
  entered(state: RequestState, event: RequestEvent | null): void;
}

/** Where one event leads, and the states that begin or are passed on the way. */
interface Move {
  readonly entered: readonly RequestState[];
  readonly to: Place;
}

/** A snapshot of the machine, one for all requests that are there, with the moves from it that were asked for. */
class Place {
  static readonly #known = new Map<string, Place>();
  readonly #snapshot: SnapshotFrom<typeof requestMachine>;
  readonly #moves = new Map<string, Move>();

  private constructor(snapshot: SnapshotFrom<typeof requestMachine>) {
    this.#snapshot = snapshot;
  }

  static first(): Move {
    return Place.#moveTo(initialTransition(requestMachine));
  }

  /** xstate's own answer, asked for once. Nothing is heard after the end. */
  move(event: RequestEvent): Move {
    const key = moveKey(event);
    const known = this.#moves.get(key);
    if (known !== undefined) return known;
    // As an actor that is done hears nothing; the pure function would go on.
    const isOver = this.#snapshot.status !== "active";
    const move: Move = isOver
      ? { entered: [], to: this }
      : Place.#moveTo(transition(requestMachine, this.#snapshot, event));
    this.#moves.set(key, move);
    return move;
  }

  static #moveTo([snapshot, actions]: ReturnType<typeof transition<typeof requestMachine>>): Move {
    const name = JSON.stringify(snapshot.value);
    const to = Place.#known.get(name) ?? new Place(snapshot);
    Place.#known.set(name, to);
    return { entered: actions.map(({ params }) => (params as EnterParams).state), to };
  }
}

interface EnterParams {
  readonly state: RequestState;
}

const first = Place.first();

/**
 * One life of `requestMachine`. An event that is sent while another is acted on waits for its turn, as in an xstate actor,
 * which would ask anew what follows for each request: 18 to 41 µs of one (`docs/adr/0012-moves-are-asked-once.md`).
 */
export class RequestRun {
  readonly #effects: RequestEffects;
  #place: Place = first.to;
  #isActing = false;
  readonly #waiting: RequestEvent[] = [];

  constructor(effects: RequestEffects) {
    this.#effects = effects;
  }

  /** Enters the first state. */
  start(): void {
    this.#act(first, null);
  }

  /** What the machine has no move for is ignored. Throws what an effect threw, once all that follows has been told. */
  send(event: RequestEvent): void {
    if (this.#isActing) this.#waiting.push(event);
    else this.#act(this.#place.move(event), event);
  }

  #act(move: Move, event: RequestEvent | null): void {
    this.#isActing = true;
    const failures: unknown[] = [];
    this.#enter(move, event, failures);
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#enter(this.#place.move(next), next, failures);
    }
    this.#isActing = false;
    if (failures.length > 0) throw failures[0];
  }

  /** Who acts on one state must not keep the next from being told. */
  #enter(move: Move, event: RequestEvent | null, failures: unknown[]): void {
    this.#place = move.to;
    for (const state of move.entered) {
      try {
        this.#effects.entered(state, event);
      } catch (error) {
        failures.push(error);
      }
    }
  }
}
