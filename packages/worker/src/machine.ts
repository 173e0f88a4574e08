import type { ServingError } from "@baton/protocol";
import { assign, setup } from "xstate";

/** First wait before asking Discovery again; doubles with each failure. */
const firstRetryMs = 100;
/** Longest wait before asking Discovery again. */
const longestRetryMs = 5_000;
/** Wait before a refused worker asks again: what stands against it rarely goes away soon. */
const refusedRetryMs = 15_000;
/** Least time between two registrations that others asked for, so that a stream of old catalogs does no harm. */
const renewalMs = 200;

/** What moves a worker's membership. */
export type WorkerEvent =
  | { readonly type: "engine.lost"; readonly error: ServingError }
  | { readonly type: "engine.restored" }
  | { readonly type: "registration.accepted" }
  | { readonly type: "registration.refused"; readonly why: string }
  /** A later start of this worker was listed, and is lost. */
  | { readonly type: "registration.outlived"; readonly generation: number }
  | { readonly type: "registration.failed" }
  /** Discovery has another epoch, or its catalog does not list this worker. */
  | { readonly type: "registration.outdated" }
  | { readonly type: "drain.requested" };

interface WorkerContext {
  readonly failures: number;
  /** In 0…1, spreads the retries of many workers. */
  readonly spread: number;
}

/** Asks again, as another generation. */
const goesOn = {
  target: "#worker.registering",
  reenter: true,
  actions: {
    type: "goOnAfter",
    params: ({ event }: { readonly event: { readonly generation: number } }) => ({
      generation: event.generation,
    }),
  },
} as const;

/**
 * A worker's membership. `registering`: not listed yet; `serving` goes on through renewals, so that workers outlive
 * Discovery; `refused`: conflicts with the group that serves; `engineLost`: waits for the engine; `leaving` is final.
 * What each state means for others is done by the actions, which the actor provides.
 */
export const workerMachine = setup({
  types: {
    context: {} as WorkerContext,
    events: {} as WorkerEvent,
    input: {} as { readonly spread: number },
  },
  actions: {
    ask: () => {},
    open: () => {},
    showRefusal: (_, _params: { readonly why: string }) => {},
    showWaiting: () => {},
    loseEngine: (_, _params: { readonly error: ServingError }) => {},
    restoreEngine: () => {},
    goOnAfter: (_, _params: { readonly generation: number }) => {},
    leave: () => {},
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    forgetFailures: assign({ failures: 0 }),
  },
  delays: {
    retry: ({ context }) =>
      Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(context.failures, 10)) *
      (0.5 + context.spread / 2),
    refusedRetry: ({ context }) => refusedRetryMs * (0.5 + context.spread / 2),
    renewal: renewalMs,
  },
}).createMachine({
  id: "worker",
  context: ({ input }) => ({ failures: 0, spread: input.spread }),
  initial: "registering",
  on: {
    "drain.requested": ".leaving",
    "engine.lost": {
      target: ".engineLost",
      actions: { type: "loseEngine", params: ({ event }) => ({ error: event.error }) },
    },
  },
  states: {
    registering: {
      entry: "showWaiting",
      initial: "asking",
      on: {
        "registration.outlived": goesOn,
        "registration.accepted": { target: "serving", actions: "forgetFailures" },
        "registration.refused": {
          target: "refused",
          actions: [
            "forgetFailures",
            { type: "showRefusal", params: ({ event }) => ({ why: event.why }) },
          ],
        },
      },
      states: {
        asking: {
          entry: "ask",
          on: { "registration.failed": { target: "waiting", actions: "countFailure" } },
        },
        waiting: { after: { retry: "asking" }, on: { "registration.outdated": "asking" } },
      },
    },
    serving: {
      entry: "open",
      initial: "listed",
      on: {
        "registration.outlived": goesOn,
        "registration.refused": {
          target: "refused",
          actions: [
            "forgetFailures",
            { type: "showRefusal", params: ({ event }) => ({ why: event.why }) },
          ],
        },
      },
      states: {
        listed: { on: { "registration.outdated": "outdated" } },
        outdated: { after: { renewal: "asking" } },
        asking: {
          entry: "ask",
          on: {
            "registration.accepted": { target: "listed", actions: "forgetFailures" },
            "registration.failed": { target: "waiting", actions: "countFailure" },
          },
        },
        waiting: { after: { retry: "asking" }, on: { "registration.outdated": "asking" } },
      },
    },
    refused: {
      initial: "resting",
      on: {
        "registration.outlived": goesOn,
        "registration.accepted": { target: "serving", actions: "forgetFailures" },
      },
      states: {
        resting: { after: { refusedRetry: "asking" }, on: { "registration.outdated": "asking" } },
        asking: {
          entry: "ask",
          on: {
            "registration.refused": {
              target: "resting",
              actions: { type: "showRefusal", params: ({ event }) => ({ why: event.why }) },
            },
            "registration.failed": "resting",
          },
        },
      },
    },
    engineLost: {
      on: {
        "engine.restored": { target: "registering", actions: "restoreEngine" },
        // It may fail again while it comes back.
        "engine.lost": {},
      },
    },
    leaving: {
      entry: "leave",
      on: {
        "drain.requested": {},
        "engine.lost": {
          actions: { type: "loseEngine", params: ({ event }) => ({ error: event.error }) },
        },
      },
    },
  },
});
