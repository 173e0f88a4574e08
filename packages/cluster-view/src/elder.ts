import type { ActorHeartbeat, ActorId } from "@baton/protocol";

/** One of several actors of a role of which only one may speak. */
export interface Contender {
  readonly id: string;
  readonly generation: number;
}

/**
 * Whether `self` must keep quiet because of `other`. The one that has run longest speaks, so that whoever follows it
 * sees no change when another one starts by mistake or as a spare; equal starts are decided by id. Under one id the
 * later start has replaced the earlier.
 */
export function yieldsTo(self: Contender, other: Contender): boolean {
  if (self.id === other.id) return other.generation > self.generation;
  if (self.generation !== other.generation) return other.generation < self.generation;
  return other.id < self.id;
}

/** Keeps count of the other actors of a role, and says whether `self` is the one that speaks. */
export class ElderWatch {
  readonly #self: Contender;
  readonly #elders = new Map<string, number>();

  constructor(self: { readonly id: ActorId; readonly generation: number }) {
    this.#self = self;
  }

  /** False while an actor that goes before this one lives. */
  get speaks(): boolean {
    return this.#elders.size === 0;
  }

  /** The actors that go before this one, by id. */
  get elders(): readonly string[] {
    return [...this.#elders.keys()];
  }

  /** Another actor of the role lives. `serves` false: it does not do this one's work, whatever its age. */
  alive(heartbeat: ActorHeartbeat, serves = true): void {
    const { id, generation } = heartbeat;
    if (id === this.#self.id && generation === this.#self.generation) return;
    if (serves && yieldsTo(this.#self, heartbeat)) this.#elders.set(id, generation);
    else this.lost(heartbeat);
  }

  /** That generation of an actor is gone. */
  lost(heartbeat: Contender): void {
    if (this.#elders.get(heartbeat.id) === heartbeat.generation) this.#elders.delete(heartbeat.id);
  }
}
