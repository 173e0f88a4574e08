import { requestId, workerId } from "@baton/protocol";
import { bench, describe } from "vitest";
import xxhash from "xxhash-wasm";
import {
  createBlockHasherFromModule,
  createFlatIndex,
  createRoutingCore,
  createSelector,
  type PrefixIndex,
  type RoutingCore,
} from "../../src/index.ts";

const blockSize = 16;
const promptTokens = 8_192;
const promptBlocks = promptTokens / blockSize;
const families = 16;
const familyTokens = 1_024;
const generation = 1;
const noHashes = new Uint8Array();

const hasher = createBlockHasherFromModule();
const { h64Raw } = await xxhash();
const seed = 1337n;

/** A prompt of a family: it begins as all of the family do, and goes on as all of its number do up to `ownTokens`. */
function promptOf(number: number, ownTokens = promptTokens): Uint32Array {
  const tokens = new Uint32Array(promptTokens);
  const family = Math.imul(1 + (number % families), 0x9e37_79b1);
  const own = Math.imul(1 + number, 0x85eb_ca6b);
  for (let at = 0; at < promptTokens; at += 1) {
    const from = at < familyTokens ? family : at < ownTokens ? own : ~own;
    tokens[at] = (from + at) >>> 0;
  }
  return tokens;
}

function sequenceHashesOf(tokens: Uint32Array): Uint8Array {
  return hasher.sequenceHashes(hasher.blockHashes(tokens, blockSize));
}

/** Every fourth prompt lies on a second worker too. */
function fill(core: RoutingCore, index: PrefixIndex, workers: number, blocks: number): number {
  const slots = Array.from({ length: workers }, (_, number) =>
    core.indexSlots.open({ workerId: workerId(`w-${number}`), generation, dpRank: 0 }),
  );
  let prompts = 0;
  while (index.blocks < blocks) {
    const hashes = sequenceHashesOf(promptOf(prompts));
    index.store(slots[prompts % workers]!, "device", null, hashes);
    if (prompts % 4 === 0) index.store(slots[(prompts * 7) % workers]!, "device", null, hashes);
    prompts += 1;
  }
  return prompts;
}

function coreOf(workers: number, blocks: number) {
  const index = createFlatIndex();
  const core = createRoutingCore({
    selector: createSelector("kv"),
    index,
    bookings: { limit: 1_000_000, graceMs: 1_000 },
  });
  core.setWorkers(
    Array.from({ length: workers }, (_, number) => ({
      id: workerId(`w-${number}`),
      generation,
      workerType: "aggregated" as const,
      dpStartRank: 0,
      dpSize: 1,
      taints: new Set<string>(),
      draining: false,
      maxSequences: 256,
      maxBatchedTokens: 8_192,
      totalBlocks: 16_384,
      blockSize,
    })),
  );
  const prompts = fill(core, index, workers, blocks);
  for (let number = 0; number < 4 * Math.min(workers, 256); number += 1) {
    core.book({
      bookingId: requestId(`r-${number}`),
      frontendId: workerId("f-1"),
      frontendGeneration: 1,
      workerId: workerId(`w-${number % workers}`),
      generation,
      dpRank: 0,
      blocks: promptBlocks,
      promptTokens,
      prefillTokens: number % 3 === 0 ? 4_096 : 0,
      sequenceHashes: sequenceHashesOf(promptOf(number % prompts)),
      expectedOutputTokens: null,
      atMs: 0,
    });
  }
  return { core, prompts };
}

function choose(core: RoutingCore, sequenceHashes: Uint8Array, nowMs: number): void {
  const selection = core.choose(
    {
      nowMs,
      workerType: "aggregated",
      stage: "aggregated",
      promptTokens,
      promptBlocks,
      blockSize,
      sequenceHashes,
    },
    0.5,
  );
  if (selection.kind !== "selected") throw new Error(selection.kind);
}

const sizes = [
  { workers: 64, blocks: 1_000_000 },
  { workers: 1_000, blocks: 1_000_000 },
  { workers: 1_000, blocks: 10_000_000 },
];

for (const { workers, blocks } of sizes) {
  describe(`a prompt of 8,192 tokens, ${workers} workers, ${blocks} blocks`, () => {
    const { core, prompts } = coreOf(workers, blocks);
    // Of each prompt, another share is known.
    const asked = Array.from({ length: 256 }, (_, number) =>
      promptOf((number * 31) % prompts, familyTokens + ((number * 28) % 7_168)),
    );
    const hashed = asked.map(sequenceHashesOf);
    let turn = 0;
    const next = () => {
      turn += 1;
      return turn % asked.length;
    };

    bench("hash, find, cost, select", () => {
      const tokens = asked[next()]!;
      choose(core, sequenceHashesOf(tokens), turn);
    });

    bench("find, cost, select", () => {
      choose(core, hashed[next()]!, turn);
    });

    bench("cost and select alone", () => {
      choose(core, noHashes, turn);
      turn += 1;
    });

    bench("xxhash-wasm, block by block, for the hashing alone", () => {
      const tokens = asked[next()]!;
      for (let at = 0; at < promptTokens; at += blockSize) {
        h64Raw(new Uint8Array(tokens.buffer, 4 * at, 4 * blockSize), seed);
      }
    });
  });
}
