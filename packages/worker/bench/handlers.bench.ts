import { MemoryKvExchange, MemoryKvMover } from "@baton/kv-transfer";
import { Generate, GenerationWork, requestId } from "@baton/protocol";
import { type Bus, noMetrics, silentLogger } from "@baton/runtime";
import { memoryCluster, promptTokens } from "@baton/testing";
import { bench, describe } from "vitest";
import { createState } from "../src/create-state.ts";
import { EngineListener } from "../src/engine-listener.ts";
import { createMockEngine } from "../src/engines/mock/index.ts";
import { handleGenerate } from "../src/handlers.ts";
import { cancelRequest } from "../src/request-end.ts";
import { workerConfig } from "../test/support/worker-cluster.ts";

/** A bus that takes everything and delivers nothing. */
const bus = { state: "connected", publish: () => undefined } as unknown as Bus;

describe("one request of 1,024 prompt tokens", async () => {
  const config = workerConfig({ "block-size": 64 });
  const context = {
    ...memoryCluster().context({ role: "worker", id: "w-1" }),
    bus,
    metrics: noMetrics,
    log: silentLogger(),
  };
  const engine = createMockEngine(config, context);
  const card = await engine.start(
    new EngineListener({ lost: () => undefined, restored: () => undefined }),
  );
  const state = createState({
    context,
    config,
    engine,
    card,
    createMover: (_, deps) => new MemoryKvMover({ exchange: new MemoryKvExchange() }, deps),
  });
  const tokens = promptTokens(1_024);
  const work = GenerationWork.encode({ tokens, params: { maxTokens: 8 }, lora: null, salt: null });
  let last = 0;
  bench("is let in, and dropped", () => {
    const id = requestId(`r${last++}`);
    const payload = Generate.encode({
      requestId: id,
      frontendId: context.id,
      frontendGeneration: 1,
      stream: 1,
      generation: state.generation,
      dpRank: 0,
      blockHashes: new Uint8Array(128),
      sequenceHashes: new Uint8Array(128),
      work,
      traceparent: null,
    });
    handleGenerate(state, {
      subject: "",
      payload,
      replyTo: null,
      respond: () => undefined,
    } as never);
    cancelRequest(state, id);
  });
});
