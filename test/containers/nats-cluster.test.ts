import { afterAll, beforeAll, expect, it } from "vitest";
import { ContainerCluster, Load } from "../support/containers/index.ts";
import { commonActors, describeWith, waitUntil, workerSpec } from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 30, "mock-decode-ms": 10 };

describeWith(["docker"], "three NATS servers, each in a container", () => {
  let cluster: ContainerCluster;

  beforeAll(async () => {
    cluster = await ContainerCluster.open({ servers: 3 });
    await cluster.startNats();
    const workers = (["prefill", "decode"] as const).flatMap((type) =>
      [1, 2].map((index) => workerSpec(type, `${type}-${index}`, "mock", timing)),
    );
    await Promise.all([...commonActors(), ...workers].map((spec) => cluster.start(spec)));
    await cluster.untilWhole();
  }, 240_000);
  afterAll(() => cluster?.close(), 60_000);

  it.each(["nats-1", "nats-2", "nats-3"])(
    "serve on without %s, and with it again",
    async (server) => {
      const load = new Load(() => cluster.apis);
      await waitUntil("answers", () => load.seen.length >= 12, { timeoutMs: 30_000 });

      const atMs = await cluster.kill(server);
      const settledMs = 2_000;
      await waitUntil(
        "answers of two servers",
        () => load.seen.filter(({ startedAtMs }) => startedAtMs > atMs + settledMs).length >= 12,
        { timeoutMs: 20_000 },
      );
      await cluster.startAgain(server);
      await cluster.untilWhole();
      const seen = await load.stop();

      const harmed = seen.filter(({ outcome }) => outcome !== "ok");
      // Those whose own server is gone know why: bus_unavailable. For those at another server one that moves is nowhere for a
      // moment: a message to it finds nobody (a worker: worker_lost, all routers of a kind: prefill_activating or not_ready),
      // and a notice that it was about to send is lost (router_lost).
      const codes = [
        ...["bus_unavailable", "router_lost", "worker_lost"],
        ...["not_ready", "prefill_activating"],
      ];
      expect(harmed.filter(({ outcome }) => !codes.includes(outcome))).toEqual([]);
      expect(harmed.filter(({ startedAtMs }) => startedAtMs > atMs + settledMs)).toEqual([]);
      await cluster.untilIdle();
    },
  );
});
