import type { PlannedActor } from "./plan.ts";

/** The actors of `baton up`, wherever they run. */
export interface Cluster {
  /** All figures of all actors in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Called with a sentence when an actor ends by itself. */
  onEnded(listener: (actor: PlannedActor, how: string) => void): void;
  /** Drains Frontends first, so that what runs can finish, then the others. Resolves when all are gone. */
  drain(): Promise<void>;
  /** Ends everything at once. */
  kill(): Promise<void>;
}
