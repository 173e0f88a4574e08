import type { ActorHeartbeat, ActorId, ActorRole, ServingError } from "@baton/protocol";
import type { LifecycleState } from "./lifecycle-machine.ts";

/** How an actor ended. */
export interface ActorExit {
  /** The failure that ended it; null after a drain or a stop. */
  readonly failure: ServingError | null;
}

/** An actor that was started, as its host sees it. */
export interface RunningActor {
  readonly id: ActorId;
  readonly role: ActorRole;
  readonly generation: number;
  readonly state: LifecycleState;
  /** Why it is not ready, null when it is. */
  readonly why: string | null;
  /** What its next life sign will say. */
  heartbeat(): ActorHeartbeat;
  /** Lets running work finish within the drain timeout, says goodbye, and stops. Resolves when it is gone. */
  drain(): Promise<void>;
  /** Says goodbye and stops without waiting for running work. Resolves when it is gone. */
  stop(): Promise<void>;
  /** Ends it as if it had crashed: no goodbye on the bus. Resolves when what it held is let go. */
  kill(): Promise<void>;
  /** Resolves when it is gone, by whatever way. */
  readonly done: Promise<ActorExit>;
  /** Resolves when it is in the state; rejects with `not_ready` if it stops before. */
  whenState(state: LifecycleState): Promise<void>;
}
