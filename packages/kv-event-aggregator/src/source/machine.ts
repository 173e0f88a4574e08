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
 * - `gap.found`: something is missing, or not even the beginning is known
 * - `base.known`: the first batch of the generation was heard, so nothing is missing
 * - `dump.wanted`: a consumer needs a dump
 * - `batch.heard`: only sent while there is a hole
 * - `source.held`, `source.resumed`: the worker fell silent, and came back
 */
export type RecoveryEvent =
  | { readonly type: "base.known" }
  | { readonly type: "gap.found" }
  | { readonly type: "dump.wanted" }
  | { readonly type: "answer.taken" }
  | { readonly type: "ask.failed" }
  | { readonly type: "batch.heard" }
  | { readonly type: "bus.restored" }
  | { readonly type: "source.held" }
  | { readonly type: "source.resumed" }
  | { readonly type: "source.closed" };

/** The states of one rank's source. */
export type RecoveryState =
  | "unknown"
  | "following"
  | "asking"
  | "waiting"
  | "holed"
  | "held"
  | "closed";

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
  initial: "unknown",
  on: {
    "source.held": ".held",
    "source.closed": ".closed",
  },
  states: {
    unknown: {
      on: {
        "base.known": "following",
        "gap.found": "asking",
        "dump.wanted": "asking",
      },
    },
    following: {
      entry: "startAnew",
      on: {
        "gap.found": "asking",
        "dump.wanted": "asking",
        // Batches may have gone by unheard: only the worker knows.
        "bus.restored": "asking",
      },
    },
    asking: {
      entry: "ask",
      on: {
        "answer.taken": "following",
        "ask.failed": [
          { guard: "isLastAttempt", target: "holed" },
          { target: "waiting", actions: "countFailure" },
        ],
      },
    },
    waiting: {
      after: { backoff: "asking" },
      on: { "bus.restored": "asking" },
    },
    holed: {
      entry: ["startAnew", "giveUp"],
      on: {
        "batch.heard": "asking",
        "dump.wanted": "asking",
        "bus.restored": "asking",
      },
    },
    held: {
      entry: "startAnew",
      on: { "source.resumed": "asking" },
    },
    closed: { type: "final" },
  },
});
