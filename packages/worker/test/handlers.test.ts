import { promptTokens } from "@baton/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { expectNothingHeld } from "./support/nothing-held.ts";
import { FakeFrontend, type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

const frameAStep = { "worker-type": "aggregated", "stream-interval-ms": 0 };

describe("generate", () => {
  it("answers with one frame a step, and ends with a mark", async () => {
    const worker = await cluster.startWorker(frameAStep);

    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 6 } });
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);

    expect(cluster.frontend.tokensOf(stream)).toHaveLength(6);
    expect(cluster.frontend.endOf(stream)).toEqual({
      reason: "length",
      error: null,
      cachedTokens: 0,
    });
    expect(cluster.frontend.frames.map((frame) => frame.sequence)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await cluster.metric(worker, "baton_worker_decodes_started_total")).toBe(1);
    await expectNothingHeld(cluster, worker);
  });

  it("puts all streams of a step into one frame", async () => {
    const worker = await cluster.startWorker(frameAStep);

    const streams = ["a", "b", "c", "d"].map((name, seed) =>
      cluster.frontend.generate(worker, name, { tokens: promptTokens(20, seed, 900) }),
    );
    await cluster.until(() => streams.every((s) => cluster.frontend.endOf(s) !== null));

    expect(cluster.frontend.frames).toHaveLength(5);
    for (const frame of cluster.frontend.frames) expect(frame.entries).toHaveLength(4);
  });

  it("numbers the frames of each Frontend apart", async () => {
    const other = new FakeFrontend(cluster, "fe-2", 7);
    const worker = await cluster.startWorker(frameAStep);

    const mine = cluster.frontend.generate(worker, "r1");
    const theirs = other.generate(worker, "r2");
    await cluster.until(
      () => cluster.frontend.endOf(mine) !== null && other.endOf(theirs) !== null,
    );

    for (const frontend of [cluster.frontend, other]) {
      expect(frontend.frames.map((frame) => frame.sequence)).toEqual([0, 1, 2, 3, 4]);
      expect(new Set(frontend.frames.map((frame) => frame.frontendGeneration))).toEqual(
        new Set([frontend.generation]),
      );
    }
  });

  it("gives every choice and its log-probabilities", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });

    const stream = cluster.frontend.generate(worker, "r1", {
      params: { n: 2, temperature: 1, seed: 4, logprobs: 1 },
    });
    await cluster.until(() => [0, 1].every((c) => cluster.frontend.endOf(stream, c) !== null));

    for (const choice of [0, 1]) {
      const entries = cluster.frontend.entriesOf(stream, choice);
      expect(cluster.frontend.tokensOf(stream, choice)).toHaveLength(5);
      for (const entry of entries) expect(entry.logprobs).toHaveLength(entry.tokens.length);
    }
    await expectNothingHeld(cluster, worker);
  });
});
