import { actorId, requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { RequestRecord } from "../src/request-record.ts";
import { RequestTable } from "../src/request-table.ts";

function recordOf(name: string, frontend: string, frontendGeneration = 1): RequestRecord {
  return new RequestRecord({
    head: {
      requestId: requestId(name),
      frontendId: actorId(frontend),
      frontendGeneration,
      stream: 1,
    },
    leg: "decode",
    dpRank: 0,
    promptTokens: 1,
    choices: 1,
    decodeConstraints: null,
    computesPrompt: true,
  });
}

describe("RequestTable", () => {
  it("finds requests by id and by Frontend, in its generations up to one", () => {
    const table = new RequestTable();
    const [a, b, c] = [recordOf("a", "f1"), recordOf("b", "f1", 2), recordOf("c", "f2")];
    for (const record of [a, b, c]) table.add(record);

    expect(table.get(requestId("b"))).toBe(b);
    expect(table.ofFrontend(actorId("f1"), 1)).toEqual([a]);
    expect(table.ofFrontend(actorId("f1"), 2)).toEqual([a, b]);
    expect(table.ofFrontend(actorId("f3"), 2)).toEqual([]);
    expect(table.frontends()).toEqual(["f1", "f2"]);
    table.remove(c);
    table.remove(c);
    expect(table.frontends()).toEqual(["f1"]);
    expect(table.ids()).toEqual(["a", "b"]);
  });

  it("tells everyone who waits when it is empty", async () => {
    const table = new RequestTable();
    await table.whenEmpty();
    const record = recordOf("a", "f1");
    table.add(record);
    const told: number[] = [];
    const waits = [1, 2].map((n) => table.whenEmpty().then(() => told.push(n)));
    await Promise.resolve();
    expect(told).toEqual([]);

    table.remove(record);
    await Promise.all(waits);

    expect(told).toEqual([1, 2]);
  });
});
