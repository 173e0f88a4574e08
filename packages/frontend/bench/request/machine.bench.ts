import { bench, describe } from "vitest";
import { createActor } from "xstate";
import { type RequestEvent, requestMachine } from "../../src/request/machine.ts";

const relay: readonly RequestEvent[] = [
  { type: "prepare" },
  { type: "route.prefill" },
  { type: "prefill.dispatched" },
  { type: "prefill.done", ended: false },
  { type: "decode.dispatched" },
  { type: "first.token" },
  { type: "finished" },
];

describe("the machine of one request", () => {
  let entered = 0;
  const effects = { entered: () => (entered += 1) };
  bench("create, start, the seven events of a relay", () => {
    const actor = createActor(requestMachine, { input: { effects } });
    actor.start();
    for (const event of relay) actor.send(event);
  });
});
