import {
  ActorHeartbeat,
  actorId,
  Catalog,
  Decode,
  Generate,
  LegFailed,
  LoadReport,
  modelName,
  Queued,
  RouteDecode,
  requestId,
  ServingError,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { registrationOf, testGeneration, testModel } from "../src/builders.ts";
import { routeDecode } from "../src/message-builders.ts";
import { PlayedCluster } from "../src/played-cluster.ts";

const model = modelName(testModel);

/** A cluster around a router that is an ear and a mouth. */
function played() {
  const cluster = new PlayedCluster({
    role: "decode-router",
    request: RouteDecode,
    commands: { generate: Generate, decode: Decode },
  });
  const { subjects } = cluster.memory;
  const router = cluster.memory.bus("r-1");
  const catalogs: string[][] = [];
  router.subscribe(subjects.catalogPublished(), ({ payload }) => {
    const { workers } = Catalog.decode(payload);
    catalogs.push(
      workers.map(({ registration: { id, generation } }) => `${id}+${generation - testGeneration}`),
    );
  });
  return { cluster, subjects, router, catalogs };
}

describe("a played cluster", () => {
  it("lists who joins and leaves, and a worker that comes back in a later generation", async () => {
    const { cluster, subjects, router, catalogs } = played();
    const states: string[] = [];
    router.subscribe(subjects.heartbeats("worker"), ({ payload }) => {
      const { id, state, generation } = ActorHeartbeat.decode(payload);
      states.push(`${id}+${generation - testGeneration} ${state}`);
    });

    cluster.join(registrationOf("p-1"), registrationOf("d-1"));
    await cluster.pass();
    cluster.leave("d-1");
    await cluster.pass();
    cluster.join(registrationOf("d-1"));
    await cluster.pass();

    expect(catalogs).toEqual([["p-1+0", "d-1+0"], ["p-1+0"], ["p-1+0", "d-1+2"]]);
    expect(states.filter((text) => text.startsWith("d-1"))).toEqual([
      "d-1+0 ready",
      "d-1+0 stopped",
      "d-1+2 ready",
    ]);
  });

  it("keeps the list, and the generation, of a worker that joins while it lives", async () => {
    const { cluster, catalogs } = played();

    cluster.join(registrationOf("d-1"));
    await cluster.pass();
    cluster.join(registrationOf("d-1"));
    await cluster.pass();

    expect(catalogs).toEqual([["d-1+0"], ["d-1+0"]]);
  });

  it("asks as a Frontend, and hears of nobody there and of what is not sent", async () => {
    const { cluster, subjects, router } = played();
    cluster.ask(routeDecode("r1"));
    await cluster.pass();
    expect(cluster.bounced).toEqual(["r1"]);

    router.subscribe(subjects.route("decode-router", model), ({ payload }) => {
      const { requestId: id, frontendId, frontendGeneration, stream } = RouteDecode.decode(payload);
      const head = {
        requestId: id,
        frontendId,
        frontendGeneration,
        stream,
        leg: "decode",
      } as const;
      const queued = { ...head, routerId: actorId("r-1"), routerGeneration: 1 };
      const failed = { ...head, actorId: actorId("r-1"), error: new ServingError("overloaded") };
      const subjectOf = (fact: "queued" | "failed") => subjects.toFrontend(fact, model, frontendId);
      router.publish(subjectOf("queued"), Queued.encode(queued));
      router.publish(subjectOf("failed"), LegFailed.encode(failed));
    });
    cluster.ask(routeDecode("r2"));
    await cluster.pass();

    expect(cluster.notices).toEqual(["queued r2", "failed r2 overloaded"]);
  });

  it("keeps the commands that come to workers, and none for one that was killed", async () => {
    const { cluster, subjects, router } = played();
    cluster.join(registrationOf("d-1"), registrationOf("d-2"));
    await cluster.pass();
    cluster.kill("d-2");
    const command = { ...routeDecode("r1"), generation: testGeneration, dpRank: 0 };
    const handoff = new Uint8Array([9]);

    for (const id of ["d-1", "d-2"].map(actorId)) {
      router.publish(subjects.worker("generate", model, id), Generate.encode(command));
      await cluster.pass();
      router.publish(subjects.worker("decode", model, id), Decode.encode({ ...command, handoff }));
      await cluster.pass();
    }

    expect(cluster.commands).toMatchObject([
      { id: "r1", verb: "generate", worker: "d-1", command: { stream: 7 } },
      { id: "r1", verb: "decode", worker: "d-1", command: { handoff } },
    ]);
  });

  it("reports as a worker, in the worker's generation", async () => {
    const { cluster, subjects, router } = played();
    const reports: LoadReport[] = [];
    router.subscribe(subjects.loadsReported(model), ({ payload }) => {
      reports.push(LoadReport.decode(payload));
    });
    cluster.join(registrationOf("d-1", { generation: 5 }));

    cluster.report("d-1", { sequence: 3, endedBookings: [requestId("r1")] });
    await cluster.pass();

    expect(reports).toMatchObject([
      { workerId: "d-1", generation: 5, sequence: 3, endedBookings: ["r1"] },
    ]);
    expect(() => cluster.report("d-9", { sequence: 1 })).toThrow("no worker d-9");
  });
});
