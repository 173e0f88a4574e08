import { assign, setup } from "xstate";

/** How patiently a worker is asked for what is missing. */
export interface RecoveryOptions {
  /** Asks before the aggregator goes on without. */
  readonly attempts: number;
  /** Wait after the first failed ask, in ms; it doubles with each. */
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** What the machine sets in motion. */
export interface RecoveryActions {
  /** Asks the worker; its answer or failure comes back as an event. */
  ask(): void;
  /** All asks have failed: what is buffered goes out as it is. */
  giveUp(): void;
}

interface RecoveryContext extends RecoveryOptions {
  readonly actions: RecoveryActions;
  readonly failures: number;
}

/**
 * - `gap.found`: something is missing
 * - `position.wanted`: nobody knows how far the worker has come
 * - `source.held`, `source.resumed`: the worker fell silent, and came back
 */
export type RecoveryEvent =
  | { readonly type: "gap.found" }
  | { readonly type: "position.wanted" }
  | { readonly type: "answer.taken" }
  | { readonly type: "ask.failed" }
  | { readonly type: "bus.restored" }
  | { readonly type: "source.held" }
  | { readonly type: "source.resumed" }
  | { readonly type: "source.closed" };

/** The states of one rank's source. */
export type RecoveryState = "following" | "asking" | "waiting" | "held" | "closed";

/**
 * The recovery of one rank of one worker's generation. Batches that come in order never reach it: it hears a gap, the
 * answer, a failure, and the worker's coming and going.
 */
export const recoveryMachine = setup({
  types: {
    context: {} as RecoveryContext,
    events: {} as RecoveryEvent,
    input: {} as RecoveryOptions & { readonly actions: RecoveryActions },
  },
  actions: {
    ask: ({ context }) => context.actions.ask(),
    giveUp: ({ context }) => context.actions.giveUp(),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    startAnew: assign({ failures: 0 }),
  },
  guards: {
    isLastAttempt: ({ context }) => context.failures + 1 >= context.attempts,
  },
  delays: {
    backoff: ({ context }) =>
      Math.min(context.maxBackoffMs, context.firstBackoffMs * 2 ** (context.failures - 1)),
  },
}).createMachine({
  id: "kv-source",
  context: ({ input }) => ({ ...input, failures: 0 }),
  initial: "following",
  on: {
    "source.held": ".held",
    "source.closed": ".closed",
  },
  states: {
    following: {
      entry: "startAnew",
      on: {
        "gap.found": "asking",
        "position.wanted": "asking",
        // Batches may have gone by unheard: only the worker knows.
        "bus.restored": "asking",
      },
    },
    asking: {
      entry: "ask",
      on: {
        "answer.taken": "following",
        "ask.failed": [
          { guard: "isLastAttempt", target: "following", actions: "giveUp" },
          { target: "waiting", actions: "countFailure" },
        ],
      },
    },
    waiting: {
      after: { backoff: "asking" },
      on: { "bus.restored": "asking" },
    },
    held: {
      entry: "startAnew",
      on: { "source.resumed": "asking" },
    },
    closed: { type: "final" },
  },
});
