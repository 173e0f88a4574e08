import { ExplainRequest, RequestExplained } from "@baton/protocol";
import { type MemoryCluster, memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { ExplainService } from "../../src/explain/explain-service.ts";
import type { RouteExplanation } from "../../src/explain/route-explanation.ts";
import { defaultBodyLimits } from "../../src/http/body-limits.ts";
import { FakePort } from "../support/fake-port.ts";
import { candidateOf, routeReply } from "../support/route-replies.ts";

const explanation: RouteExplanation = {
  model: "m",
  mode: "decode-only",
  tokens: Uint32Array.of(7),
  blockSize: 4,
  legs: [{ leg: "decode", route: routeReply([candidateOf("d1")]) }],
  ignored: [],
  failure: null,
};

function serve(cluster: MemoryCluster, id: string, maxBodyBytes = 1_000) {
  const port = new FakePort();
  port.onExplain = () => explanation;
  const context = cluster.context({ role: "frontend", id });
  const undecoded: number[] = [];
  const service = new ExplainService(context, {
    ...defaultBodyLimits,
    port,
    overloadStatus: 529,
    maxBodyBytes,
    undecodable: { add: (count) => void undecoded.push(count ?? 1) },
  });
  service.start();
  return { port, service, undecoded };
}

async function ask(cluster: MemoryCluster, payload: Uint8Array) {
  const pending = cluster
    .bus("tool")
    .request(cluster.subjects.explainRequest(), payload, { timeoutMs: 1_000 })
    .then(RequestExplained.decode);
  await cluster.clock.advanceBy(20);
  const { status, body } = await pending;
  return { status, body: JSON.parse(body) };
}

const chat = (body: object) =>
  ExplainRequest.encode({
    endpoint: "chat",
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body }),
  });

describe("a question on the bus", () => {
  it("is answered as the API answers it, by one Frontend", async () => {
    const cluster = memoryCluster();
    const ports = ["f1", "f2"].map((id) => serve(cluster, id).port);

    const answer = await ask(cluster, chat({ baton: { session: { id: "s" } } }));

    expect(answer).toMatchObject({
      status: 200,
      body: { object: "route", selected: { decode: "d1" } },
    });
    expect(answer.body.nvext).toBeUndefined();
    const queries = ports.flatMap((port) => port.queries);
    expect(queries.map(({ routing }) => routing?.rules)).toEqual([{ session: { id: "s" } }]);
  });

  it("may come in the other form, and about completions", async () => {
    const cluster = memoryCluster();
    const { port } = serve(cluster, "f1");
    const body = JSON.stringify({
      model: "m",
      prompt: "Hi",
      nvext: { annotations: ["query_instance_id:"] },
    });

    const answer = await ask(cluster, ExplainRequest.encode({ endpoint: "completions", body }));

    expect(answer.body.nvext).toMatchObject({ token_ids: [7] });
    expect(port.queries[0]?.prompt).toEqual({ kind: "text", text: "Hi" });
  });

  it.each<readonly [string, Uint8Array, number, object]>([
    ["an unknown field", chat({ baton: { speed: 1 } }), 400, { param: "baton.speed" }],
    ["a body that is no JSON", ExplainRequest.encode({ endpoint: "chat", body: "{" }), 400, {}],
    ["a body that is too large", chat({ user: "x".repeat(1_000) }), 413, {}],
    ["a message of another shape", Uint8Array.of(1), 400, { code: "invalid_request" }],
  ])("gets the API's error for %s", async (_title, payload, status, error) => {
    const cluster = memoryCluster();
    serve(cluster, "f1");

    const answer = await ask(cluster, payload);

    expect(answer).toMatchObject({ status, body: { error: { stage: "received", ...error } } });
  });

  it("is counted when it is no message", async () => {
    const cluster = memoryCluster();
    const { undecoded } = serve(cluster, "f1");

    await ask(cluster, Uint8Array.of(1));
    await ask(cluster, chat({ baton: { speed: 1 } }));

    expect(undecoded).toEqual([1]);
  });

  it("goes to another Frontend once one drains", async () => {
    const cluster = memoryCluster();
    const first = serve(cluster, "f1");
    const second = serve(cluster, "f2");
    await first.service.drain();

    for (let asked = 0; asked < 4; asked += 1) await ask(cluster, chat({}));

    expect([first.port.queries.length, second.port.queries.length]).toEqual([0, 4]);
  });
});
