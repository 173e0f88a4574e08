import type { AnyStateMachine } from "xstate";
import { rebuildMachine } from "../../packages/discovery/src/machine.ts";
import { requestMachine } from "../../packages/frontend/src/request/machine.ts";
import { recoveryMachine } from "../../packages/kv-event-aggregator/src/source/machine.ts";
import { activationMachine } from "../../packages/prefill-router/src/activation.ts";
import { lifecycleMachine } from "../../packages/runtime/src/lifecycle-machine.ts";
import { workerMachine } from "../../packages/worker/src/machine.ts";

/** A machine with what its page says. */
export interface DocumentedMachine {
  readonly file: string;
  readonly title: string;
  readonly meaning: string;
  readonly machine: AnyStateMachine;
}

/** Every machine of the system. */
export const machines: readonly DocumentedMachine[] = [
  {
    file: "request",
    title: "A request",
    meaning: "One per request, in the Frontend. Deadlines come from one sweep.",
    machine: requestMachine,
  },
  {
    file: "lifecycle",
    title: "An actor's life",
    meaning: "One per actor. `/readyz` and heartbeats say its state.",
    machine: lifecycleMachine,
  },
  {
    file: "activation",
    title: "Activation of a prefill route",
    meaning: "One per model in each PrefillRouter.",
    machine: activationMachine,
  },
  {
    file: "worker",
    title: "A worker's membership",
    meaning: "One per Worker: registration with Discovery, and its engine's loss and return.",
    machine: workerMachine,
  },
  {
    file: "rebuild",
    title: "The catalog after a start",
    meaning: "One per Discovery: when its catalog may be called complete.",
    machine: rebuildMachine,
  },
  {
    file: "recovery",
    title: "Recovery of a KV source",
    meaning: "One per worker and rank in the KvEventAggregator: how missing events are asked for.",
    machine: recoveryMachine,
  },
];
