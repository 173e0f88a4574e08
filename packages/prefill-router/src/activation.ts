import type { ActivationState } from "@baton/protocol";
import { assign, type StateValueFrom, setup } from "xstate";

/** What the activation of a model's prefill route hears. */
export type ActivationEvent =
  /** Exactly one prefill set and one decode set stand; `target` names the prefill set. */
  | { readonly type: "target.found"; readonly target: string }
  /** There is no such pair any more. */
  | { readonly type: "target.gone" }
  /** The model's desk is subscribed, as the server confirmed. */
  | { readonly type: "binding.ready"; readonly target: string }
  /** It could not be; another try follows by itself. */
  | { readonly type: "binding.failed"; readonly target: string };

interface ActivationContext {
  /** The prefill set that the route goes to; null while there is none. */
  readonly target: string | null;
  /** The prefill set whose binding stands. Kept while the set is away, so that its return needs no work. */
  readonly bound: string | null;
}

/** What a machine's owner does for it. None of these may throw. */
export interface ActivationActions {
  /** Subscribes the desk, then sends `binding.ready` or `binding.failed`. */
  readonly bind: (target: string) => void;
  /** Opens the route. */
  readonly open: () => void;
  /** Closes the route at once; `target` is the set that is being bound instead, null if there is none. */
  readonly shut: (target: string | null) => void;
}

/** How long a failed binding rests before the next try. */
const retryMs = 1_000;

const machineSetup = setup({
  types: {
    context: {} as ActivationContext & { readonly actions: ActivationActions },
    events: {} as ActivationEvent,
    input: {} as ActivationActions,
  },
  guards: {
    isBound: ({ context, event }) =>
      event.type === "target.found" && event.target === context.bound,
    isCurrent: ({ context, event }) => "target" in event && event.target === context.target,
  },
  actions: {
    aim: assign(({ event }) => (event.type === "target.found" ? { target: event.target } : {})),
    miss: assign({ target: null }),
    keep: assign(({ context }) => ({ bound: context.target })),
    unbind: assign({ bound: null }),
    bind: ({ context }) => {
      if (context.target !== null) context.actions.bind(context.target);
    },
    open: ({ context }) => context.actions.open(),
    shut: ({ context }) => context.actions.shut(context.target),
  },
  delays: { retryMs },
});

const gone = { target: "unavailable", actions: "miss" } as const;
const another = { target: "pending", actions: "aim" } as const;

/**
 * Whether a router serves the prefill route of one (namespace, model): `none → pending → active → unavailable`.
 * Any order of arrival leads to `active`; the last prefill worker's going leads to `unavailable` at once, and its
 * return to `active` at once.
 */
export const activationMachine = machineSetup.createMachine({
  id: "activation",
  initial: "none",
  context: ({ input }) => ({ target: null, bound: null, actions: input }),
  states: {
    none: {
      on: { "target.found": another },
    },
    pending: {
      entry: ["unbind", "bind"],
      on: {
        "binding.ready": { guard: "isCurrent", target: "active", actions: "keep" },
        "binding.failed": { guard: "isCurrent", target: "resting" },
        "target.found": [{ guard: "isCurrent" }, { ...another, reenter: true }],
        "target.gone": gone,
      },
    },
    /** A binding has failed; the next try comes by itself. Seen from outside it is `pending`. */
    resting: {
      after: { retryMs: "pending" },
      on: {
        "binding.ready": { guard: "isCurrent", target: "active", actions: "keep" },
        "target.found": [{ guard: "isCurrent" }, another],
        "target.gone": gone,
      },
    },
    active: {
      entry: "open",
      on: {
        "target.found": [{ guard: "isCurrent" }, { target: "pending", actions: ["aim", "shut"] }],
        "target.gone": { target: "unavailable", actions: ["miss", "shut"] },
      },
    },
    unavailable: {
      on: {
        "target.found": [{ guard: "isBound", target: "active", actions: "aim" }, another],
      },
    },
  },
});

/** What others are told of a machine's state. */
export function reportedActivation(
  state: StateValueFrom<typeof activationMachine>,
): ActivationState {
  return state === "resting" ? "pending" : state;
}
