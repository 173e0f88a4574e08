import type { RequestState, ServingError } from "@baton/protocol";
import { setup } from "xstate";

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

const machineSetup = setup({
  types: { events: {} as RequestEvent },
  actions: {
    /** A state begins, or is passed because a message overtook the notice that would have begun it. `RequestRun` tells of it. */
    enter: (_, _params: { readonly state: RequestState }) => undefined,
  },
  guards: {
    ended: ({ event }) => event.type === "prefill.done" && event.ended,
  },
});

const enter = (state: RequestState) => ({ type: "enter", params: { state } }) as const;

/**
 * The life of one request, as `architecture.md` §3 draws it. Exactly one of `completed`, `failed` and `cancelled` is
 * reached. Deadlines come in from one sweep; the machine has no timer. It has no context and its one guard looks at the event
 * alone, so where an event leads depends on the state and on `moveKey` only: `RequestRun` relies on it.
 */
export const requestMachine = machineSetup.createMachine({
  id: "request",
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

/** All of an event that decides where it leads. */
export function moveKey(event: RequestEvent): string {
  return event.type === "prefill.done" && event.ended ? "prefill.done, ended" : event.type;
}
