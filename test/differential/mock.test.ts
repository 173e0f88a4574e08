import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askWhole } from "../support/differential/ask.ts";
import { type Compared, type Comparison, compareWays } from "../support/differential/compare.ts";
import { MemoryServing } from "../support/differential/memory-serving.ts";
import { planBodies } from "../support/differential/planned-body.ts";

const [relayed, alone] = ["relayed", "alone"];
const requests = 200;
const timeoutMs = 180_000;

describe("the mock engine, all requests at once", () => {
  let serving: MemoryServing;

  beforeAll(async () => {
    serving = await MemoryServing.start(
      [
        { type: "prefill", model: relayed },
        { type: "prefill", model: relayed },
        { type: "decode", model: relayed },
        { type: "decode", model: relayed },
        { type: "aggregated", model: alone },
        { type: "aggregated", model: alone },
      ],
      { "mock-prefill-ms": 2, "mock-decode-ms": 1, "block-size": 16 },
    );
  }, timeoutMs);
  afterAll(() => serving?.stop(), timeoutMs);

  it(
    "answers alike with and without disaggregation, streamed or not, whatever is asked for",
    async () => {
      let salts = 0;
      const ways: Comparison = {
        api: serving.api,
        relayed,
        alone,
        tolerance: 0,
        // Who computes a prompt first is a matter of chance.
        saltOf: () => {
          salts += 1;
          return `${salts}`;
        },
      };
      const bounds = {
        mostTokens: 40,
        mostChoices: 3,
        mostPrompts: 3,
        knownIds: 20_000,
        biasesGrammars: false,
      };
      const planned = planBodies(bounds, 6, requests);

      const all = await serving.during(Promise.all(planned.map((one) => compareWays(ways, one))));

      expect(all.flatMap(({ differences }) => differences)).toEqual([]);
      expect(finishes(all)).toEqual(new Set(["length", "stop"]));
    },
    timeoutMs,
  );

  it(
    "refuses several prompts for the fault of the last, before any of them reaches a worker",
    async () => {
      const started = () =>
        serving.metric("baton_worker_prefills_started_total", { actor: "worker" });
      const counted = (code: string, outcome: string) =>
        serving.metric("baton_frontend_requests_total", { code, outcome });
      const good = { model: relayed, prompt: ["one", "two"], max_tokens: 8 };
      await serving.during(askWhole(serving.api, "/v1/completions", good));
      const before = {
        prefills: await started(),
        refused: await counted("context_length_exceeded", "failed"),
        cancelled: await counted("client_gone", "cancelled"),
      };
      const prompt = [...good.prompt, "three ".repeat(200_000)];

      const answer = await serving.during(
        fetch(`${serving.api}/v1/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ ...good, prompt, stream: true }),
        }),
      );

      expect(before.prefills).toBeGreaterThanOrEqual(2);
      expect([answer.status, await answer.json()]).toEqual([
        400,
        {
          error: expect.objectContaining({
            code: "context_length_exceeded",
            param: "prompt",
            stage: "preparing",
          }),
        },
      ]);
      expect({
        prefills: await started(),
        refused: await counted("context_length_exceeded", "failed"),
        cancelled: await counted("client_gone", "cancelled"),
      }).toEqual({ ...before, refused: before.refused + 3 });
    },
    timeoutMs,
  );
});

function finishes(all: readonly Compared[]): ReadonlySet<string | null> {
  return new Set(all.flatMap(({ answer }) => answer.choices.map(({ finish }) => finish)));
}
