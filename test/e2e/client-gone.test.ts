import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  ApiStream,
  type Cluster,
  describeWith,
  post,
  startCluster,
  textOf,
  waitUntil,
} from "../support/processes/index.ts";

/** One sequence at a time on the prefill side, so that a second prompt has to wait in its router. */
const flags = { "mock-prefill-ms": 900, "mock-decode-ms": 30, "transfer-gbps": 0.05 };
/** At 0.05 GB/s a prompt like this takes some seconds to move. */
const longPrompt = "the relay runs on and on. ".repeat(300);
const cancelledMs = 500;

describeWith(["nats"], "a client that leaves", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ flags: { ...flags, "max-num-seqs": 1 } });
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle(20_000));

  function ask(content: string, maxTokens = 400) {
    const id = randomUUID();
    const messages = [{ role: "user", content }];
    const body = { model: "mock", messages, max_tokens: maxTokens };
    return { id, stream: new ApiStream(cluster.api, "chat/completions", body, id) };
  }

  /** Leaves, and measures until everybody was told and until nothing of it is held. */
  async function leave({ id, stream }: ReturnType<typeof ask>) {
    const leftAtMs = performance.now();
    stream.leave();
    const cancelled = await cluster.watch.untilState(id, "cancelled");
    return {
      leftAtMs,
      cancelledAfterMs: cancelled.heardAtMs - leftAtMs,
      stage: cancelled.details.stage,
    };
  }

  const cancelledRequests = (stage: string) =>
    cluster.metrics("baton_frontend_requests_total", { outcome: "cancelled", stage });

  it("while queued is cancelled, and who runs is not disturbed", async () => {
    const running = ask("I run", 5);
    await cluster.watch.untilState(running.id, "prefill.running");
    const prefills = await cluster.metrics("baton_worker_prefills_started_total");
    const queued = ask("I wait");
    await waitUntil("the router to hold it", async () => {
      return (await cluster.metrics("baton_router_queued", { role: "prefill" })) === 1;
    });

    const { stage, cancelledAfterMs, leftAtMs } = await leave(queued);
    const freed = await waitUntil("the queue to be empty", async () => {
      const queuedNow = await cluster.metrics("baton_router_queued", { role: "prefill" });
      return queuedNow === 0 && performance.now();
    });

    expect(stage).toBe("prefill.queued");
    expect(cancelledAfterMs).toBeLessThan(cancelledMs);
    expect(freed - leftAtMs).toBeLessThan(cancelledMs);
    expect(await cluster.metrics("baton_worker_prefills_started_total")).toBe(prefills);
    const done = await running.stream.over();
    expect(done.isDone).toBe(true);
    expect(done.errors).toEqual([]);
  });

  it.each([
    ["in prefill", "Short", "prefill.running"],
    ["in handoff", longPrompt, "handoff"],
    ["in decode", "Short", "decode.streaming"],
  ] as const)("%s is cancelled, and all of its KV is freed", async (_where, content, state) => {
    const before = await cancelledRequests(state);
    const asked = ask(content);
    await cluster.watch.untilState(asked.id, state);
    if (state === "decode.streaming") await asked.stream.begun();

    const { stage, cancelledAfterMs, leftAtMs } = await leave(asked);
    const idleAtMs = await cluster.untilIdle();

    expect(stage).toBe(state);
    expect(cancelledAfterMs).toBeLessThan(cancelledMs);
    expect(idleAtMs - leftAtMs).toBeLessThan(cancelledMs);
    expect(await cancelledRequests(state)).toBe(before + 1);
    expect(
      await cluster.metrics("baton_frontend_requests_total", { outcome: "failed", stage: state }),
    ).toBe(0);
  });

  it("leaves room for the next one at once", async () => {
    const gone = ask("Hog");
    await cluster.watch.untilState(gone.id, "prefill.running");
    const next = post(cluster.api, "completions", { model: "mock", prompt: "Next", max_tokens: 3 });

    await leave(gone);

    expect(textOf(await next)).not.toBe("");
  });

  it("counts every staged KV as pulled or released, and none as expired", async () => {
    const handoffs = (outcome: string) => cluster.metrics("baton_kv_handoffs_total", { outcome });

    const staged = await handoffs("staged");

    expect(staged).toBeGreaterThan(0);
    expect((await handoffs("pulled")) + (await handoffs("released"))).toBe(staged);
    expect(await handoffs("expired")).toBe(0);
  });
});
