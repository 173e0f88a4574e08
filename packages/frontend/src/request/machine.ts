/** Hot path: once per request, about eight events each. Budget 45 µs a request. Bench: bench/request/machine.bench.ts */
import type { RequestState, ServingError } from "@baton/protocol";
import { type ActorRefFrom, setup } from "xstate";

/** What the machine hears. Tokens are not among it: it hears that the first frame came, and that the last one did. */
export type RequestEvent =
  | { readonly type: "prepare" }
  | { readonly type: "route.prefill" }
  | { readonly type: "route.decode" }
  | { readonly type: "prefill.dispatched" }
  | { readonly type: "prefill.done"; readonly ended: boolean }
  | { readonly type: "decode.dispatched" }
  | { readonly type: "first.token" }
  | { readonly type: "finished" }
  | { readonly type: "failed"; readonly error: ServingError }
  | { readonly type: "lost"; readonly error: ServingError }
  | { readonly type: "deadline.passed" }
  | { readonly type: "cancelled" };

/** Who acts on a request's states. Called synchronously, in order, once for each state that is entered or passed. */
export interface RequestEffects {
  entered(state: RequestState, event: RequestEvent): void;
}

interface MachineContext {
  readonly effects: RequestEffects;
}

const machineSetup = setup({
  types: {
    context: {} as MachineContext,
    events: {} as RequestEvent,
    input: {} as MachineContext,
  },
  actions: {
    /** A state begins, or is passed because a message overtook the notice that would have begun it. */
    enter: ({ context, event }, params: { readonly state: RequestState }) => {
      context.effects.entered(params.state, event);
    },
  },
  guards: {
    ended: ({ event }) => event.type === "prefill.done" && event.ended,
  },
});

const enter = (state: RequestState) => ({ type: "enter", params: { state } }) as const;

/**
 * The life of one request, as `architecture.md` §3 draws it. Exactly one of `completed`, `failed` and `cancelled` is
 * reached. Deadlines come in from one sweep; the machine has no timer.
 */
export const requestMachine = machineSetup.createMachine({
  id: "request",
  context: ({ input }) => ({ effects: input.effects }),
  initial: "received",
  on: {
    failed: { target: "#failed" },
    lost: { target: "#failed" },
    "deadline.passed": { target: "#failed" },
    cancelled: { target: "#cancelled" },
  },
  states: {
    received: {
      entry: enter("received"),
      on: { prepare: { target: "preparing" } },
    },
    preparing: {
      entry: enter("preparing"),
      on: {
        "route.prefill": { target: "#prefill.queued" },
        "route.decode": { target: "#decode.queued" },
      },
    },
    prefill: {
      id: "prefill",
      initial: "queued",
      states: {
        queued: {
          entry: enter("prefill.queued"),
          on: {
            "prefill.dispatched": { target: "running" },
            "prefill.done": [
              { guard: "ended", target: "#completed", actions: enter("prefill.running") },
              { target: "#decode.routing", actions: enter("prefill.running") },
            ],
          },
        },
        running: {
          entry: enter("prefill.running"),
          on: {
            "prefill.done": [
              { guard: "ended", target: "#completed" },
              { target: "#decode.routing" },
            ],
          },
        },
      },
    },
    handoff: {
      id: "handoff",
      entry: enter("handoff"),
      on: { "first.token": { target: "#decode.streaming" } },
    },
    decode: {
      id: "decode",
      initial: "queued",
      states: {
        routing: {
          entry: enter("decode.routing"),
          on: {
            "decode.dispatched": { target: "#handoff" },
            "first.token": { target: "streaming", actions: enter("handoff") },
          },
        },
        queued: {
          entry: enter("decode.queued"),
          on: {
            "decode.dispatched": { target: "running" },
            "first.token": { target: "streaming", actions: enter("decode.running") },
          },
        },
        running: {
          entry: enter("decode.running"),
          on: { "first.token": { target: "streaming" } },
        },
        streaming: {
          entry: enter("decode.streaming"),
          on: { finished: { target: "#completed" } },
        },
      },
    },
    completed: { id: "completed", type: "final", entry: enter("completed") },
    failed: { id: "failed", type: "final", entry: enter("failed") },
    cancelled: { id: "cancelled", type: "final", entry: enter("cancelled") },
  },
});

/** The machine of one request, running. */
export type RequestActor = ActorRefFrom<typeof requestMachine>;
