import { ServingError } from "@baton/protocol";
import type { Engine, EngineEvents } from "../../src/engine.ts";
import { createMockEngine } from "../../src/engines/mock/index.ts";
import type { EngineFactory } from "../../src/index.ts";

/** A mock engine that dies and comes back when the test says so. */
export interface CrashableEngine {
  readonly factory: EngineFactory;
  crash(): void;
  restore(): Promise<void>;
}

export function crashableEngine(): CrashableEngine {
  let inner: Engine | null = null;
  let make: () => Engine = () => {
    throw new Error("not made yet");
  };
  let events: EngineEvents | null = null;
  const factory: EngineFactory = (config, deps) => {
    make = () => createMockEngine(config, deps);
    const engine = make();
    inner = engine;
    const idle = engine.load();
    return {
      start: (listener) => {
        events = listener;
        return engine.start(listener);
      },
      prefill: (job) => inner?.prefill(job),
      generate: (job) => inner?.generate(job),
      prepareImport: (job) =>
        inner?.prepareImport(job) ?? Promise.reject(new ServingError("engine_lost")),
      importPart: (id, part, bytes) =>
        inner?.importPart(id, part, bytes) ?? Promise.reject(new ServingError("engine_lost")),
      decode: (id) => inner?.decode(id),
      release: (id) => inner?.release(id),
      abort: (id) => inner?.abort(id),
      load: () => inner?.load() ?? idle,
      dumpKv: (rank) => inner?.dumpKv(rank) ?? [],
      stop: async () => {
        await inner?.stop();
      },
    };
  };
  return {
    factory,
    crash: () => {
      const dead = inner;
      inner = null;
      void dead?.stop();
      events?.onLost(new ServingError("engine_lost", { problem: "the test said so" }));
    },
    restore: async () => {
      if (events === null) return;
      inner = make();
      await inner.start(events);
      events.onRestored();
    },
  };
}
