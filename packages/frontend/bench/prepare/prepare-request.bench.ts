/** Run: `npx vitest bench --run packages/frontend/bench/prepare`. Each prompt is of about 8,000 tokens. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createBlockHasherFromModule } from "@baton/kv-router";
import { requestId } from "@baton/protocol";
import { RealClock, SeededRandom } from "@baton/runtime";
import { bench, describe } from "vitest";
import { loadTextModel } from "../../src/prepare/load-text-model.ts";
import { createPrepareRequest } from "../../src/prepare/prepare-request.ts";
import { TextModels } from "../../src/prepare/text-models.ts";
import { registrationOf } from "../../test/support/fake-view.ts";

const random = new SeededRandom("prepare");
const bytes = readFileSync(
  createRequire(import.meta.url).resolve("@baton/text/assets/default-tokenizer.bin"),
);
const syllables = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu ent ing".split(" ");

/** Words, never the same twice: about three units a token. */
function words(length: number): string {
  let text = "";
  while (text.length < length) {
    for (let left = 1 + Math.floor(random.number() * 3); left > 0; left -= 1) {
      text += syllables[Math.floor(random.number() * syllables.length)] ?? "";
    }
    text += random.number() < 0.1 ? ".\n" : " ";
  }
  return text;
}

const textModels = new TextModels(1, () => loadTextModel(new RealClock(), bytes));
const prepareRequest = createPrepareRequest({
  textModels,
  hasher: createBlockHasherFromModule(),
  random,
  maxPromptLogprobs: 0,
  maxWorkBytes: () => 2 ** 20,
});
const { card } = registrationOf({
  id: "a1",
  type: "aggregated",
  card: { contextLength: 2 ** 17, blockSize: 16 },
});

function prepare(content: string): Promise<unknown> {
  return prepareRequest(
    {
      requestId: requestId("r1"),
      model: "m",
      prompt: { kind: "chat", messages: [{ role: "user", content }] },
      output: { maxTokens: 8, n: 1 },
      stop: [],
      clientRequestId: null,
      traceparent: null,
    },
    card,
  );
}

describe("preparing a chat of 8,000 tokens", () => {
  const beginning = words(24_000);
  const fresh = Array.from({ length: 256 }, () => words(24_400));
  const tails = Array.from({ length: 256 }, () => words(400));
  let next = 0;
  bench("that is new", async () => {
    next += 1;
    // Known once the pool has been gone through: other first characters make it new.
    await prepare(`${next} ${fresh[next % fresh.length] ?? ""}`);
  });
  bench("that begins like others but for 130 tokens", async () => {
    next += 1;
    await prepare(beginning + (tails[next % tails.length] ?? ""));
  });
});
