import { Abort, Catalog, modelName, requestId, workerId } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { Tail, type TailLine } from "../../src/bus-tools/tail.ts";
import { tailText } from "../../src/bus-tools/tail-text.ts";

const model = modelName("org/model");

function tailing() {
  const cluster = memoryCluster();
  const lines: TailLine[] = [];
  const tail = new Tail(
    { bus: cluster.bus("watcher"), subjects: cluster.subjects, clock: cluster.clock },
    (line) => lines.push(line),
  );
  return { cluster, lines, tail };
}

describe("Tail", () => {
  it("opens a message by its subject", async () => {
    const { cluster, lines } = tailing();
    const abort = Abort.encode({ requestIds: [requestId("r-1")], reason: "client_gone" });

    cluster
      .bus("frontend")
      .publish(cluster.subjects.worker("abort", model, workerId("w-1")), abort);
    await cluster.clock.advanceBy(10);

    expect(lines).toEqual([
      {
        at: expect.any(Number),
        subject: cluster.subjects.worker("abort", model, workerId("w-1")),
        name: "abort",
        version: 1,
        message: { requestIds: ["r-1"], reason: "client_gone" },
      },
    ]);
  });

  it("opens a reply by the request that it answers", async () => {
    const { cluster, lines } = tailing();
    const answer = {
      namespace: "n",
      epoch: 1,
      revision: 2,
      complete: true,
      workers: [],
      models: [],
    };
    cluster
      .bus("discovery")
      .subscribe(cluster.subjects.getCatalog(), (message) =>
        message.respond(Catalog.encode(answer)),
      );

    const asked = cluster
      .bus("router")
      .request(cluster.subjects.getCatalog(), new Uint8Array(0), { timeoutMs: 100 });
    await cluster.clock.advanceBy(10);
    await asked;

    expect(lines.map(({ name }) => name)).toEqual(["empty", "catalog"]);
    expect(lines[1]?.message).toEqual(answer);
  });

  it("shows what cannot be opened as an error, and goes on", async () => {
    const { cluster, lines } = tailing();
    const sender = cluster.bus("frontend");

    sender.publish(cluster.subjects.abortAnywhere(model), Uint8Array.of(0xc1));
    sender.publish(
      cluster.subjects.abortAnywhere(model),
      Abort.encode({ requestIds: [], reason: "x" }),
    );
    await cluster.clock.advanceBy(10);

    expect(lines.map(({ message }) => message)).toMatchObject([
      { code: "malformed_message" },
      { reason: "x" },
    ]);
  });

  it("hears nothing after it was stopped", async () => {
    const { cluster, lines, tail } = tailing();

    tail.stop();
    cluster
      .bus("frontend")
      .publish(
        cluster.subjects.abortAnywhere(model),
        Abort.encode({ requestIds: [], reason: "x" }),
      );
    await cluster.clock.advanceBy(10);

    expect(lines).toEqual([]);
  });
});

describe("tailText", () => {
  it("is one line with time, place, name and the beginning of the message", () => {
    const line = {
      at: 3_723_004,
      subject: "baton.v1.n.m.worker.abort",
      name: "abort",
      version: 1,
      message: { long: "x".repeat(400) },
    };

    const text = tailText(line);

    expect(text).toMatch(/^01:02:03\.004 {2}worker\.abort +abort +\{"long":"x+…$/);
    expect(text.length).toBeLessThan(260);
  });
});
