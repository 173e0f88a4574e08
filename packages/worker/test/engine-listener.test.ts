import { requestId, ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import type { EngineEvents } from "../src/engine.ts";
import { EngineListener } from "../src/engine-listener.ts";
import { createMockEngine } from "../src/engines/mock/index.ts";
import type { EngineFactory } from "../src/index.ts";
import { workerCluster } from "./support/worker-cluster.ts";

const output = (name: string) => ({
  requestId: requestId(name),
  choice: 0,
  offset: 0,
  tokens: [1],
  logprobs: null,
  finish: null,
  cachedTokens: 0,
});

describe("EngineListener", () => {
  it("passes on that an engine is lost and restored", () => {
    const heard: unknown[] = [];
    const listener = new EngineListener({
      lost: (error) => heard.push(error.code),
      restored: () => heard.push("restored"),
    });

    listener.onLost(new ServingError("engine_lost"));
    listener.onRestored();

    expect(heard).toEqual(["engine_lost", "restored"]);
  });

  it("takes what comes before there is a state", () => {
    const listener = new EngineListener({ lost: () => undefined, restored: () => undefined });

    expect(() => {
      listener.onStep([output("r1")]);
      listener.onFailed(requestId("r1"), new ServingError("internal"));
      listener.onKvEvents(0, [{ kind: "cleared" }]);
    }).not.toThrow();
  });

  it.each(["prefill", "aggregated"] as const)(
    "says once of a %s worker's request that its prompt is computed, and until then what is left of it",
    async (type) => {
      const cluster = workerCluster();
      const worker = await cluster.startWorker({
        "worker-type": type,
        "mock-prefill-ms": 300,
        "mock-decode-ms": 400,
      });
      if (type === "prefill") cluster.frontend.prefill(worker, "r1", { promptLength: 130 });
      else cluster.frontend.generate(worker, "r1", { promptLength: 130 });
      const states = () => cluster.loads.flatMap(({ liveStates }) => liveStates ?? []);
      await cluster.until(() => states().length > 0);
      expect(states().slice(0, 4)).toEqual([0, expect.any(Number), 130, 0]);

      await cluster.clock.advanceBy(600);

      expect(cluster.loads.flatMap((load) => load.prefilledBookings)).toEqual(["r1"]);
      expect(states().slice(-4)).toEqual([
        0,
        expect.any(Number),
        0,
        type === "prefill" ? 0 : expect.any(Number),
      ]);
    },
  );

  it("sends the log-probabilities of a prompt with its first frame", async () => {
    const cluster = workerCluster();
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    const params = { promptLogprobs: 1, maxTokens: 3 };
    cluster.frontend.generate(worker, "r1", { promptLength: 20, params });
    await cluster.clock.advanceBy(5_000);

    const entries = cluster.frontend.frames.flatMap((frame) => frame.entries);
    expect(entries.map(({ promptLogprobs }) => promptLogprobs?.length)).toEqual([
      19,
      ...entries.slice(1).map(() => undefined),
    ]);
  });

  it("says with the first frame how much of a prompt was cached, and only where it was", async () => {
    const cluster = workerCluster();
    const worker = await cluster.startWorker({ "worker-type": "aggregated", "block-size": 16 });
    const params = { maxTokens: 3 };
    cluster.frontend.generate(worker, "r1", { promptLength: 70, params });
    await cluster.clock.advanceBy(5_000);
    cluster.frontend.generate(worker, "r2", { promptLength: 70, params });
    await cluster.clock.advanceBy(5_000);

    const entries = cluster.frontend.frames.flatMap((frame) => frame.entries);
    const said = entries.map(({ cachedTokens, offset }) => [offset, cachedTokens]);
    expect(said).toEqual([
      [0, undefined],
      [1, undefined],
      [2, undefined],
      [0, 64],
      [1, undefined],
      [2, undefined],
    ]);
  });

  it("tells nobody of requests that are not here, and frees what they staged", async () => {
    const cluster = workerCluster();
    let events: EngineEvents | undefined;
    const released: string[] = [];
    const factory: EngineFactory = (config, deps) => {
      const engine = createMockEngine(config, deps);
      const start = engine.start.bind(engine);
      engine.start = (listener) => {
        events = listener;
        return start(listener);
      };
      engine.release = (id) => void released.push(id);
      return engine;
    };
    await cluster.startWorker({ "worker-type": "prefill" }, { engine: factory });

    events?.onStep([output("ghost")]);
    events?.onFailed(requestId("ghost"), new ServingError("internal"));
    events?.onPrefilled({
      requestId: requestId("ghost"),
      firstTokens: [],
      finishReasons: [null],
      cachedTokens: 0,
      promptLogprobs: null,
      staged: null,
      engineParams: null,
    });
    await cluster.clock.advanceBy(100);

    expect(released).toEqual(["ghost"]);
    expect([cluster.frontend.frames, cluster.frontend.failed]).toEqual([[], []]);
  });
});
