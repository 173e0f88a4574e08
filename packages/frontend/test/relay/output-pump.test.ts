import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { RequestOutput } from "../../src/output/request-output.ts";
import { OutputPump } from "../../src/relay/output-pump.ts";
import type { RelayedRequest } from "../../src/relay/relayed-request.ts";
import { fakeTextModel } from "../support/fake-text-model.ts";

function rig(sink: (texts: readonly string[]) => void) {
  const clock = new VirtualClock(5);
  const events: string[] = [];
  const pump = new OutputPump(clock, (_request, nowMs) => events.push(`output at ${nowMs}`));
  const output = new RequestOutput(fakeTextModel, 1, {
    stop: [],
    stopTokenIds: [],
    logprobs: false,
    tokens: false,
  });
  const request = {
    isDirty: false,
    isEnded: false,
    output,
    begin: () => undefined,
    sink: { output: (deltas: readonly { text: string }[]) => sink(deltas.map(({ text }) => text)) },
    send: ({ type }: { type: string }) => events.push(type),
  } as unknown as RelayedRequest;
  const accept = (tokens: number[], offset: number, isLast = false) => {
    const end = isLast ? ({ reason: "stop", error: null, cachedTokens: 0 } as const) : null;
    output.accept({ stream: 1, choice: 0, offset, tokens, logprobs: null, end });
    pump.mark(request);
  };
  return { accept, clock, events, request };
}

describe("the pump of output", () => {
  it("gives out what came in one turn in one call, and says when the last has come", async () => {
    const calls: (readonly string[])[] = [];
    const { accept, clock, events } = rig((texts) => calls.push(texts));

    accept([65], 0);
    accept([66], 1, true);
    expect(calls).toEqual([]);
    await clock.advanceBy(0);

    expect(calls).toEqual([["AB"]]);
    expect(events).toEqual(["output at 5", "finished"]);
  });

  it("gives nothing to a request that has ended meanwhile", async () => {
    const calls: unknown[] = [];
    const { accept, clock, request } = rig((texts) => calls.push(texts));

    accept([65], 0);
    request.isEnded = true;
    await clock.advanceBy(0);

    expect(calls).toEqual([]);
  });

  it("fails the request whose sink breaks", async () => {
    const { accept, clock, events } = rig(() => {
      throw new Error("broken");
    });

    accept([65], 0);
    await clock.advanceBy(0);

    expect(events).toEqual(["failed"]);
  });
});
