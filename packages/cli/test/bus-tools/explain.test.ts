import { Catalog, ExplainRequest, RequestExplained } from "@baton/protocol";
import {
  catalog,
  catalogWorker,
  memoryCluster,
  testModel,
  workerRegistration,
} from "@baton/testing";
import { describe, expect, it } from "vitest";
import { askFrontend, modelNames } from "../../src/bus-tools/explain.ts";

const question = { endpoint: "chat", body: "{}" } as const;

describe("asking a Frontend", () => {
  it("gives its answer", async () => {
    const cluster = memoryCluster();
    const heard: ExplainRequest[] = [];
    cluster.bus("f1").subscribe(cluster.subjects.explainRequest(), (message) => {
      heard.push(ExplainRequest.decode(message.payload));
      message.respond(RequestExplained.encode({ status: 200, body: "{}" }));
    });

    const pending = askFrontend({ bus: cluster.bus("tool"), subjects: cluster.subjects }, question);
    await cluster.clock.advanceBy(10);

    expect(await pending).toEqual({ status: 200, body: "{}" });
    expect(heard).toEqual([question]);
  });

  it("says so where none is", async () => {
    const cluster = memoryCluster();

    const pending = askFrontend({ bus: cluster.bus("tool"), subjects: cluster.subjects }, question);
    const refused = expect(pending).rejects.toMatchObject({
      code: "not_ready",
      message: expect.stringMatching(/^no Frontend serves the namespace/),
    });
    await cluster.clock.advanceBy(10);
    await refused;
  });

  it("learns the models from Discovery", async () => {
    const cluster = memoryCluster();
    const worker = catalogWorker(workerRegistration({ id: "p1" }));
    cluster
      .bus("disc")
      .subscribe(cluster.subjects.getCatalog(), (message) =>
        message.respond(Catalog.encode(catalog([worker]))),
      );

    const pending = modelNames({ bus: cluster.bus("tool"), subjects: cluster.subjects });
    await cluster.clock.advanceBy(10);

    expect(await pending).toEqual([testModel]);
  });

  it("says which namespace has no Discovery", async () => {
    const cluster = memoryCluster();
    const pending = modelNames({ bus: cluster.bus("tool"), subjects: cluster.subjects });
    const failed = expect(pending).rejects.toMatchObject({
      code: "not_ready",
      message: expect.stringContaining(`"${cluster.subjects.namespace}"`),
    });
    await cluster.clock.advanceBy(10);

    await failed;
  });
});
