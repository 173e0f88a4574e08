import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  ApiStream,
  type Cluster,
  describeWith,
  startCluster,
  waitUntil,
} from "../support/processes/index.ts";

/** Two kilobytes a token or so: what the kernel takes for a client is full soon. */
const wordy = { logprobs: true, top_logprobs: 20 };

describeWith(["nats"], "a client that does not read", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({
      flags: { "mock-prefill-ms": 2, "mock-decode-ms": 1 },
      frontendFlags: { "client-buffer-bytes": 65_536 },
    });
  });
  afterAll(() => cluster?.stop());

  it("is cut and its decode ends, while others get all of theirs", async () => {
    const messages = [{ role: "user", content: "Tell me everything." }];
    const body = JSON.stringify({
      model: "mock",
      messages,
      stream: true,
      max_tokens: 100_000,
      ...wordy,
    });
    const { hostname, port } = new URL(cluster.api);
    const deaf = connect({ host: hostname, port: Number(port) });
    deaf.on("error", () => undefined);
    deaf.pause();
    await once(deaf, "connect");
    deaf.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await waitUntil(
      "it to be answered",
      async () => (await cluster.metrics("baton_worker_sequences")) > 0,
    );
    const other = new ApiStream(cluster.api, "completions", {
      model: "mock",
      prompt: "Others",
      max_tokens: 500,
    });

    await waitUntil(
      "the cut",
      async () => (await cluster.metrics("baton_frontend_clients_cut_total")) === 1,
      {
        timeoutMs: 40_000,
      },
    );
    await other.over(30_000);
    await cluster.untilIdle();
    deaf.destroy();

    expect(other.errors).toEqual([]);
    expect(other.isDone).toBe(true);
    const cancelled = { outcome: "cancelled", code: "client_gone" };
    expect(await cluster.metrics("baton_frontend_requests_total", cancelled)).toBe(1);
    expect(await cluster.metrics("baton_frontend_requests_total", { outcome: "completed" })).toBe(
      1,
    );
  });
});
