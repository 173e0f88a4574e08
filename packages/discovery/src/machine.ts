import { setup } from "xstate";

/** What the machine is given. */
export interface RebuildInput {
  /** How long every worker has to be heard and to register, in ms. */
  readonly leaseMs: number;
  /** How much longer those are waited for that are heard but have not registered, in ms. */
  readonly patienceMs: number;
  /** Whether every worker that is heard and serves has registered. */
  isEverybodyBack(): boolean;
}

/** `workers.changed`: one was heard, lost or registered. */
export type RebuildEvent =
  | { readonly type: "workers.changed" }
  | { readonly type: "bus.lost" }
  | { readonly type: "bus.restored" };

/**
 * When the catalog may be called complete. Discovery keeps nothing on disk: after a start it waits for one lease, in which
 * every living worker is heard and registers, and for stragglers some more. It cannot be sooner: a silent bus looks the
 * same whether there are no workers or they have not been heard yet. While the bus is away nobody can be heard, so
 * the lease begins again when it is back.
 */
export const rebuildMachine = setup({
  types: {
    context: {} as RebuildInput,
    events: {} as RebuildEvent,
    input: {} as RebuildInput,
  },
  guards: {
    isEverybodyBack: ({ context }) => context.isEverybodyBack(),
  },
  delays: {
    lease: ({ context }) => context.leaseMs,
    patience: ({ context }) => context.patienceMs,
  },
}).createMachine({
  id: "catalog",
  context: ({ input }) => input,
  initial: "rebuilding",
  states: {
    rebuilding: {
      after: {
        lease: [{ guard: "isEverybodyBack", target: "complete" }, { target: "settling" }],
      },
      on: { "bus.lost": "paused" },
    },
    settling: {
      after: { patience: "complete" },
      on: {
        "workers.changed": { guard: "isEverybodyBack", target: "complete" },
        "bus.lost": "paused",
      },
    },
    paused: {
      on: { "bus.restored": "rebuilding" },
    },
    // Complete is for ever: what is known is kept while the bus is away.
    complete: {},
  },
});
