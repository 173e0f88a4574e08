import { beforeEach, describe, expect, it } from "vitest";
import { type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

describe("a worker on the bus", () => {
  let cluster: WorkerCluster;

  beforeEach(() => {
    cluster = workerCluster();
  });

  it("generates from a prompt, one frame a step, and ends with a mark", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });

    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 6 } });
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);

    expect(cluster.frontend.tokensOf(stream)).toHaveLength(6);
    expect(cluster.frontend.endOf(stream)).toEqual({
      reason: "length",
      error: null,
      cachedTokens: 0,
    });
    expect(cluster.frontend.frames.map((frame) => frame.sequence)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("hands a prompt over: the decode worker says what one worker alone would say", async () => {
    const alone = await cluster.startWorker({ "worker-type": "aggregated" });
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    const whole = frontend.generate(alone, "whole", { params: { maxTokens: 9 } });
    frontend.prefill(first, "r1", { params: { maxTokens: 9 } });
    await cluster.until(() => frontend.prefilled.length === 1);

    const stream = frontend.decode(second, "r1", frontend.ticketOf("r1"), {
      params: { maxTokens: 9 },
    });
    await cluster.until(() => frontend.endOf(stream) !== null && frontend.endOf(whole) !== null);

    expect(frontend.tokensOf(stream)).toEqual(frontend.tokensOf(whole));
    expect(frontend.tokensOf(stream)[0]).toBe(frontend.prefilled[0]?.firstTokens[0]?.id);
    await cluster.clock.advanceBy(300);
    for (const worker of [alone, first, second]) {
      for (const gauge of ["sequences", "blocks_used", "handoffs_held"]) {
        expect(await cluster.metric(worker, `baton_worker_${gauge}`)).toBe(0);
      }
    }
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="pulled"')).toBe(1);
    expect(await cluster.metric(second, "baton_kv_blocks_moved_total")).toBe(2);
  });
});
