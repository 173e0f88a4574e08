import { type BlockHasher, createBlockHasherFromModule } from "@baton/kv-router";
import { fixedTiming, polynomialTiming, type TimingModel } from "@baton/mock-engine";
import type { WorkerConfig } from "../../config.ts";
import type { Engine, EngineDeps } from "../../engine.ts";
import { SimulatedEngine } from "./simulated-engine.ts";
import { loadTokenizer } from "./tokenizer-source.ts";

const defaultContextLength = 131_072;
const defaultMaxNumSeqs = 256;

let sharedHasher: BlockHasher | null = null;

/** Makes a mock engine from a worker's options. Throws `config_invalid`. */
export function createMockEngine(config: WorkerConfig, deps: EngineDeps): Engine {
  const { artifact, tokenizer } = loadTokenizer(config.model);
  sharedHasher ??= createBlockHasherFromModule();
  return new SimulatedEngine(
    {
      blocks: config.blocks,
      blockSize: config.blockSize,
      maxNumSeqs: config.maxNumSeqs ?? defaultMaxNumSeqs,
      maxBatchedTokens: config.maxBatchedTokens,
      // A sequence that outgrows all blocks would end before what its client was promised.
      contextLength: Math.min(
        config.contextLength ?? defaultContextLength,
        config.blocks * config.blockSize,
      ),
      transferGbps: config.transferGbps,
      timing: timingOf(config),
      voice: {
        hasher: sharedHasher,
        encode: (piece) => tokenizer.encode(piece),
        endOfGenerationIds: tokenizer.endOfGenerationIds,
        vocabularySize: tokenizer.vocabularySize,
      },
      tokenizer: artifact,
    },
    deps,
  );
}

/** Fixed times if one is given, the other then 0; else the timing model. */
function timingOf(config: WorkerConfig): TimingModel {
  const { mockPrefillMs, mockDecodeMs, speedup, decodeSpeedup } = config;
  if (mockPrefillMs === undefined && mockDecodeMs === undefined) {
    return polynomialTiming({ speedup, decodeSpeedup });
  }
  return fixedTiming({ prefillMs: mockPrefillMs ?? 0, decodeMs: mockDecodeMs ?? 0 });
}
