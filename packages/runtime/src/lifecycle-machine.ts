import type { ActorState } from "@baton/protocol";
import { assign, setup } from "xstate";

/** What a lifecycle is started with. */
export interface LifecycleInput {
  /** Milliseconds that a drain may take. */
  readonly drainTimeoutMs: number;
}

/** What a lifecycle knows. */
export interface LifecycleContext {
  readonly drainTimeoutMs: number;
  readonly isStarted: boolean;
  readonly isSynced: boolean;
  /** What the actor waits for, while it is not synced. */
  readonly unsyncedWhy: string;
  /** The failure that ended it. */
  readonly failure: unknown;
}

/** What happens to an actor. */
export type LifecycleEvent =
  | { readonly type: "actor.created" }
  | { readonly type: "bus.connected" }
  | { readonly type: "bus.lost" }
  | { readonly type: "actor.started" }
  | { readonly type: "view.synced" }
  | { readonly type: "view.unsynced"; readonly why: string }
  | { readonly type: "drain.requested" }
  | { readonly type: "actor.drained" }
  | { readonly type: "stop.requested" }
  | { readonly type: "actor.failed"; readonly error: unknown };

/** The states that a lifecycle can be in. */
export type LifecycleState = Exclude<ActorState, "lost">;

/**
 * The life of every actor. It is ready when the bus is there, its start is done and what it follows is known;
 * degraded while the bus is gone. A drain ends by itself after its time.
 */
export const lifecycleMachine = setup({
  types: {
    context: {} as LifecycleContext,
    events: {} as LifecycleEvent,
    input: {} as LifecycleInput,
  },
  actions: {
    noteStarted: assign({ isStarted: true }),
    noteSynced: assign({ isSynced: true }),
    noteUnsynced: assign({
      isSynced: false,
      unsyncedWhy: ({ context, event }) =>
        event.type === "view.unsynced" ? event.why : context.unsyncedWhy,
    }),
    noteFailure: assign({
      failure: ({ event }) => (event.type === "actor.failed" ? event.error : null),
    }),
  },
  guards: {
    isServing: ({ context }) => context.isStarted && context.isSynced,
  },
  delays: { drainTimeout: ({ context }) => context.drainTimeoutMs },
}).createMachine({
  id: "lifecycle",
  initial: "starting",
  context: ({ input }) => ({
    drainTimeoutMs: input.drainTimeoutMs,
    isStarted: false,
    isSynced: false,
    unsyncedWhy: "not synced yet",
    failure: null,
  }),
  on: {
    "stop.requested": ".stopped",
    "actor.failed": { target: ".stopped", actions: "noteFailure" },
    "actor.started": { actions: "noteStarted" },
    "view.synced": { actions: "noteSynced" },
    "view.unsynced": { actions: "noteUnsynced" },
  },
  states: {
    starting: {
      on: { "actor.created": "connecting", "drain.requested": "stopped" },
    },
    connecting: {
      on: { "bus.connected": "syncing", "drain.requested": "stopped" },
    },
    syncing: {
      always: { guard: "isServing", target: "ready" },
      on: { "bus.lost": "degraded", "drain.requested": "draining" },
    },
    ready: {
      on: {
        "view.unsynced": { target: "syncing", actions: "noteUnsynced" },
        "bus.lost": "degraded",
        "drain.requested": "draining",
      },
    },
    degraded: {
      on: {
        "bus.connected": "syncing",
        "drain.requested": "draining",
      },
    },
    draining: {
      on: { "actor.drained": "stopped" },
      after: { drainTimeout: "stopped" },
    },
    stopped: { type: "final" },
  },
});

/** One sentence on why an actor in a state is not ready; null when it is. */
export function whyNotReady(state: LifecycleState, context: LifecycleContext): string | null {
  switch (state) {
    case "ready":
      return null;
    case "starting":
      return "starting";
    case "connecting":
      return "waits for the message bus";
    case "syncing":
      return context.isSynced ? "starting" : context.unsyncedWhy;
    case "degraded":
      return "the message bus is gone";
    case "draining":
      return "draining";
    case "stopped":
      return context.failure === null ? "stopped" : "failed";
  }
}
