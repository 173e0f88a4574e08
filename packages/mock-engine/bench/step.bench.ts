import { bench, describe } from "vitest";
import { fixedTiming, MockEngine, type OutputPlan } from "../src/index.ts";
import { testHasher } from "../test/support/test-hasher.ts";

const plan: OutputPlan = { next: (index) => index & 0xffff };
const outputTokens = 256;

function promptOf(request: number, length: number): Uint32Array {
  return Uint32Array.from({ length }, (_, i) => (request * 7919 + i * 31) & 0xffff);
}

/** Runs `count` requests at once from their prompts to their ends and returns the tokens that they gave. */
function generate(count: number, promptTokens: number): number {
  const engine = new MockEngine(
    { maxNumSeqs: count, blockCount: 16_384 },
    { hasher: testHasher, timing: fixedTiming({ prefillMs: 0, decodeMs: 0 }) },
  );
  for (let i = 0; i < count; i++) {
    const id = `r-${i}`;
    const prompt = promptOf(i, promptTokens);
    const rules = { maxTokens: outputTokens };
    engine.addGenerate({ id, promptTokens: prompt, plans: [plan], rules });
  }
  let tokens = 0;
  while (engine.beginPass(0) !== undefined) tokens += engine.finishPass().outputs.count;
  return tokens;
}

describe("one iteration = 256 output tokens for each sequence, after its prompt", () => {
  for (const count of [1, 64, 256]) {
    bench(`${count} sequences, 140 prompt tokens`, () => {
      generate(count, 140);
    });
  }
  bench("64 sequences, 2,000 prompt tokens", () => {
    generate(64, 2000);
  });
});
