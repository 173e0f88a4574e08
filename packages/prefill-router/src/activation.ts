import { assign, setup } from "xstate";

/** What the activation of a model's prefill route hears. */
export type ActivationEvent =
  /** Exactly one prefill set and one decode set stand; `target` names the prefill set. */
  | { readonly type: "target.found"; readonly target: string }
  /** There is no such pair any more. */
  | { readonly type: "target.gone" }
  /** The model's desk is subscribed, as the server confirmed. */
  | { readonly type: "binding.ready"; readonly target: string }
  /** It could not be; another try follows by itself. */
  | { readonly type: "binding.failed" };

interface ActivationContext {
  /** The prefill set that the route goes to, or went to last. */
  readonly target: string | null;
  /** The prefill set whose binding stands. Kept while the set is away, so that its return needs no work. */
  readonly bound: string | null;
}

/** What a machine's owner does for it. */
export interface ActivationActions {
  /** Subscribes the desk, then sends `binding.ready` or `binding.failed`. */
  readonly bind: (target: string) => void;
  /** Joins the queue group. */
  readonly serve: () => void;
  /** Leaves the queue group at once. */
  readonly hold: () => void;
}

/** How long a failed binding rests before the next try. */
const retryMs = 1_000;

/**
 * Whether a router serves the prefill route of one (namespace, model): `none → pending → active → unavailable`.
 * Any order of arrival leads to `active`; the last prefill worker's going leads to `unavailable` at once.
 */
export function activationMachine(actions: ActivationActions) {
  return setup({
    types: { context: {} as ActivationContext, events: {} as ActivationEvent },
    guards: {
      isBound: ({ context, event }) =>
        event.type === "target.found" && event.target === context.bound,
      isCurrent: ({ context, event }) =>
        event.type === "target.found" && event.target === context.target,
      isWanted: ({ context, event }) =>
        event.type === "binding.ready" && event.target === context.target,
    },
    actions: {
      aim: assign(({ event }) => (event.type === "target.found" ? { target: event.target } : {})),
      keep: assign(({ context }) => ({ bound: context.target })),
      unbind: assign({ bound: null }),
      bind: ({ context }) => {
        if (context.target !== null) actions.bind(context.target);
      },
      serve: () => actions.serve(),
      hold: () => actions.hold(),
    },
    delays: { retryMs },
  }).createMachine({
    id: "activation",
    initial: "none",
    context: { target: null, bound: null },
    states: {
      none: {
        on: { "target.found": { target: "pending", actions: "aim" } },
      },
      pending: {
        entry: ["unbind", "bind"],
        on: {
          "binding.ready": { guard: "isWanted", target: "active", actions: "keep" },
          "binding.failed": "resting",
          "target.found": [
            { guard: "isCurrent" },
            { target: "pending", reenter: true, actions: "aim" },
          ],
          "target.gone": "unavailable",
        },
      },
      resting: {
        after: { retryMs: "pending" },
        on: {
          "target.found": [{ guard: "isCurrent" }, { target: "pending", actions: "aim" }],
          "target.gone": "unavailable",
        },
      },
      active: {
        entry: "serve",
        exit: "hold",
        on: {
          "target.found": [{ guard: "isCurrent" }, { target: "pending", actions: "aim" }],
          "target.gone": "unavailable",
        },
      },
      unavailable: {
        on: {
          "target.found": [
            { guard: "isBound", target: "active", actions: "aim" },
            { target: "pending", actions: "aim" },
          ],
        },
      },
    },
  });
}
