import { actorId, modelName, requestId, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { RelayedRequest } from "../../src/relay/relayed-request.ts";
import { RequestTable } from "../../src/relay/request-table.ts";
import { RecordingSink } from "../support/recording-sink.ts";

const hooks = { nowMs: () => 0, deadlines: {}, extendLeaseMs: 1, onState: () => undefined };

function tableWith(...ids: readonly string[]) {
  const table = new RequestTable(actorId("f1"), 7);
  const requests = ids.map((id) => {
    const serving = {
      requestId: requestId(id),
      model: "m",
      prompt: { kind: "text", text: "" },
      output: { maxTokens: 1, n: 1 },
      stop: [],
      clientRequestId: null,
      traceparent: null,
    } as const;
    const sink = new RecordingSink();
    const one = new RelayedRequest(table.newStream(), modelName("m"), serving, sink, hooks);
    table.add(one);
    return one;
  });
  return { requests, table };
}

describe("the table of live requests", () => {
  it("finds a request by its whole head only", () => {
    const { requests, table } = tableWith("r1", "r2");
    const [one, other] = requests;
    const head = table.headOf(one!);

    expect(table.find(head)).toBe(one);
    expect(table.find({ ...head, frontendGeneration: 6 })).toBeUndefined();
    expect(table.find({ ...head, stream: other!.stream })).toBeUndefined();
    expect(table.find({ ...head, stream: 99 })).toBeUndefined();
  });

  it("knows a worker's requests until they are over", () => {
    const { requests, table } = tableWith("r1", "r2");
    const [one, other] = requests;
    table.assign(one!, "prefill", workerId("w1"), 1);
    table.assign(one!, "decode", workerId("w2"), 1);
    table.assign(other!, "decode", workerId("w2"), 1);
    table.assign(other!, "decode", workerId("w3"), 1);
    expect(table.at(workerId("w2"))).toEqual([one, other]);
    expect(table.at(workerId("w3"))).toEqual([]);

    table.remove(one!);
    table.remove(other!);

    expect(table.workers()).toEqual([]);
    expect(table.live.size).toBe(0);
  });

  it("gives no stream twice", () => {
    const { table } = tableWith("r1", "r2", "r3");

    expect(new Set(table.live.keys()).size).toBe(3);
  });

  it("remembers a bounded number of requests that ended early", () => {
    const { requests, table } = tableWith(...Array.from({ length: 4_100 }, (_, at) => `r${at}`));

    for (const one of requests) table.rememberEnded(one, 5);

    expect(table.endedEarly(requests[0]!.stream)).toBeUndefined();
    expect(table.endedEarly(requests.at(-1)!.stream)).toMatchObject({
      requestId: "r4099",
      atMs: 5,
    });
  });
});
