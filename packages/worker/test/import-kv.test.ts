import type { GenerationParams } from "@baton/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { expectNothingHeld } from "./support/nothing-held.ts";
import { type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

describe("the decode side of a handoff", () => {
  it.each([
    ["short", 7, {}],
    ["of whole blocks", 48, {}],
    ["long", 333, {}],
    ["with choices", 40, { n: 3, temperature: 1, seed: 5 }],
    ["with log-probabilities", 40, { logprobs: 2 }],
  ])(
    "%s: the decode worker says what one worker alone would say",
    async (_what, promptLength, wish) => {
      const alone = await cluster.startWorker({ "worker-type": "aggregated" });
      const first = await cluster.startWorker({ "worker-type": "prefill" });
      const second = await cluster.startWorker({ "worker-type": "decode" });
      const { frontend } = cluster;
      const params: Partial<GenerationParams> = { maxTokens: 9, ...wish };
      const work = { promptLength, params };
      const choices = Array.from({ length: params.n ?? 1 }, (_, choice) => choice);
      const whole = frontend.generate(alone, "whole", work);
      frontend.prefill(first, "r1", work);
      await cluster.until(() => frontend.prefilled.length === 1);

      const stream = frontend.decode(second, "r1", frontend.ticketOf("r1"), work);
      await cluster.until(() =>
        choices.every(
          (c) => frontend.endOf(stream, c) !== null && frontend.endOf(whole, c) !== null,
        ),
      );

      for (const choice of choices) {
        const chosen = (s: number) =>
          frontend.entriesOf(s, choice).flatMap((entry) => entry.logprobs ?? []);
        expect(frontend.tokensOf(stream, choice)).toEqual(frontend.tokensOf(whole, choice));
        expect(chosen(stream)).toEqual(chosen(whole));
        expect(frontend.tokensOf(stream, choice)[0]).toBe(
          frontend.prefilled[0]?.firstTokens[choice]?.id,
        );
      }
      await expectNothingHeld(cluster, alone, first, second);
      expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="pulled"')).toBe(1);
      expect(await cluster.metric(second, "baton_kv_blocks_moved_total")).toBe(
        Math.floor(promptLength / 16),
      );
      expect(await cluster.metric(first, "baton_worker_prefills_started_total")).toBe(1);
      expect(await cluster.metric(second, "baton_worker_decodes_started_total")).toBe(1);
    },
  );

  it("moves only the blocks that the decode worker lacks, and still uses the ticket up", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    for (const name of ["r1", "r2"]) {
      frontend.prefill(first, name, { promptLength: 48 });
      await cluster.until(() => frontend.prefilled.some((fact) => fact.requestId === name));
      const stream = frontend.decode(second, name, frontend.ticketOf(name), { promptLength: 48 });
      await cluster.until(() => frontend.endOf(stream) !== null);
    }

    expect(await cluster.metric(second, "baton_kv_blocks_moved_total")).toBe(3);
    expect(await cluster.metric(second, "baton_kv_blocks_reused_total")).toBe(3);
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="pulled"')).toBe(2);
    await expectNothingHeld(cluster, first, second);
  });

  it("refuses a ticket for the second time", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    const stream = frontend.decode(second, "r1", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.endOf(stream) !== null);

    frontend.decode(second, "again", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]?.error.details.reason).toBe("used");
    await expectNothingHeld(cluster, first, second);
  });

  it.each([
    ["descriptor", { descriptor: { blockSize: 64 } }, "blockSize"],
    ["transport", { transport: "file" as const }, "transport"],
    ["prompt length", { promptTokens: 3 }, "promptTokens"],
    ["number of first tokens", { firstTokens: [] }, "firstTokens"],
  ])("refuses a ticket whose %s does not fit, naming the field", async (_what, change, field) => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);

    frontend.decode(second, "r1", { ...frontend.ticketOf("r1"), ...change });
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]).toMatchObject({
      error: { code: "handoff_refused", details: { field } },
    });
    const refused = await cluster.metric(
      second,
      "baton_kv_pulls_refused_total",
      'reason="descriptor"',
    );
    expect(refused).toBe(field === "blockSize" ? 1 : 0);
    frontend.abort(first, "r1");
    await expectNothingHeld(cluster, first, second);
  });

  it("fails when the prefill worker is gone, and counts it as no start", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    await first.kill();

    frontend.decode(second, "r1", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]?.error.code).toBe("kv_transfer_failed");
    expect(await cluster.metric(second, "baton_worker_decodes_started_total")).toBe(0);
    await expectNothingHeld(cluster, second);
  });
});
