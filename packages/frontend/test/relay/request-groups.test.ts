import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { submitPrompts } from "../../src/http/submit-prompts.ts";
import { RequestGroup } from "../../src/request/request-group.ts";
import { RelayRig } from "../support/relay-rig.ts";

describe("the requests of one body", () => {
  it("are routed when the last of them is prepared, and not before", async () => {
    const rig = new RelayRig();
    const group = new RequestGroup(2);
    const one = rig.submit({ group });
    await rig.settle(20);
    expect([rig.routedPrefills.length, one.sink.outcome()]).toEqual([0, "running"]);

    const other = rig.submit({ group });
    await rig.settle(20);

    expect(rig.routedPrefills.map(({ requestId }) => requestId)).toEqual([one.id, other.id]);
  });

  it("reach nobody if one of them is at fault, and fail with it, each in its own stage", async () => {
    const rig = new RelayRig();
    const [first, second, third] = [rig.request(), rig.request(), rig.request()];
    const prepare = rig.prepare;
    rig.prepare = async (request) => {
      if (request.requestId === second.requestId) {
        await rig.clock.sleep(10);
        throw new ServingError("invalid_request", { param: "prompt" });
      }
      return prepare(request);
    };
    const ends: string[] = [];
    submitPrompts(rig.relay, [first, second, third], {
      began: () => undefined,
      output: () => undefined,
      ended: (end) =>
        ends.push(end.kind === "failed" ? `${end.stage} ${end.error.code}` : end.kind),
    });
    await rig.settle(100);

    expect(ends).toEqual(["preparing invalid_request"]);
    expect([rig.routedPrefills, rig.routedDecodes, rig.cleanups]).toEqual([[], [], []]);
    expect(rig.table.live.size).toBe(0);
    for (const { requestId } of [first, second, third]) {
      expect(rig.transitions.filter((line) => line.includes(requestId)).at(-1)).toMatch(/failed/);
    }
  });

  it("are cancelled where they are when another one fails later, with its error", async () => {
    const rig = new RelayRig();
    const group = new RequestGroup(2);
    const [one, other] = [rig.submit({ group }), rig.submit({ group })];
    await rig.toHandoff(one);

    one.handle.cancel(new ServingError("engine_failed"));
    other.handle.cancel(new ServingError("engine_failed"));
    await rig.settle();

    expect(one.sink.outcome()).toBe("failed handoff engine_failed");
    expect(other.sink.outcome()).toBe("failed prefill.queued engine_failed");
    expect(rig.cleanups).not.toEqual([]);
    expect(rig.table.live.size).toBe(0);
  });
});
