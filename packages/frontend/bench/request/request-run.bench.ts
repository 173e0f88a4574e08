import { bench, describe } from "vitest";
import { createActor } from "xstate";
import { type RequestEvent, requestMachine } from "../../src/request/machine.ts";
import { RequestRun } from "../../src/request/request-run.ts";

const relay: readonly RequestEvent[] = [
  { type: "prepare" },
  { type: "route.prefill" },
  { type: "prefill.dispatched" },
  { type: "prefill.done", ended: false },
  { type: "decode.dispatched" },
  { type: "first.token" },
  { type: "finished" },
];

describe("one request: create, start, the seven events of a relay", () => {
  const enter = () => undefined;

  bench("moves asked for once", () => {
    const run = new RequestRun({ entered: enter });
    run.start();
    for (const event of relay) run.send(event);
  });

  const machine = requestMachine.provide({ actions: { enter } });
  bench("an xstate actor", () => {
    const actor = createActor(machine);
    actor.start();
    for (const event of relay) actor.send(event);
  });
});
