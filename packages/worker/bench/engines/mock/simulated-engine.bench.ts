import { requestId } from "@baton/protocol";
import { RealClock, SeededRandom, silentLogger } from "@baton/runtime";
import { bench, describe } from "vitest";
import type { EngineEvents } from "../../../src/engine.ts";
import { createMockEngine } from "../../../src/engines/mock/index.ts";
import { workerConfig } from "../../../test/support/worker-cluster.ts";

const streams = 64;
const tokens = 100;

/** Generates without delays; resolves when every stream has ended. */
async function generateAll(): Promise<void> {
  const engine = createMockEngine(
    workerConfig({ "mock-prefill-ms": 0, "mock-decode-ms": 0, blocks: 4_096 }),
    { clock: new RealClock(), random: new SeededRandom(1), log: silentLogger() },
  );
  await new Promise<void>((resolve, reject) => {
    let open = streams;
    const events: EngineEvents = {
      onStep: (outputs) => {
        for (const output of outputs) if (output.finish !== null) open--;
        if (open === 0) resolve();
      },
      onPrefilled: () => undefined,
      onFailed: (_, error) => reject(error),
      onKvEvents: () => undefined,
      onLost: reject,
      onRestored: () => undefined,
    };
    engine.start(events).then(() => {
      for (let stream = 0; stream < streams; stream++) {
        engine.generate({
          requestId: requestId(`r${stream}`),
          dpRank: 0,
          tokens: Uint32Array.of(stream, 2, 3),
          blockHashes: new Uint8Array(0),
          sequenceHashes: new Uint8Array(0),
          params: { maxTokens: tokens },
          lora: null,
          salt: null,
        });
      }
    }, reject);
  });
}

describe("the mock engine without delays", () => {
  bench(`${streams} streams of ${tokens} tokens`, generateAll);
});
