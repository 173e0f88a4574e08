import { describe, expect, it } from "vitest";
import { mergeSummaries, summaryFields } from "../../src/http/summary-json.ts";
import type { RequestSummary } from "../../src/request/request-sink.ts";
import { plainWish } from "../support/bodies.ts";
import { summary } from "../support/fake-port.ts";

const other: RequestSummary = {
  ...summary,
  decodeWorker: "d2" as RequestSummary["decodeWorker"],
  promptTokens: 10,
  outputTokens: 5,
  cachedTokens: 0,
  receivedAtMs: 900,
  timingMs: { preparing: 1, handoff: 3 },
};

describe("several prompts as one", () => {
  it("share what they share, add up, and last as long as the longest", () => {
    expect(mergeSummaries([summary, other])).toEqual({
      ...summary,
      decodeWorker: null,
      promptTokens: 17,
      outputTokens: 7,
      cachedTokens: 4,
      receivedAtMs: 900,
      timingMs: { received: 0, preparing: 1.5, handoff: 3 },
    });
    expect(mergeSummaries([summary])).toBe(summary);
  });

  it("are told one by one too where the route is", () => {
    const wish = { ...plainWish, includeRoute: true };

    expect(summaryFields([summary, other], wish, true)).toEqual({
      usage: {
        prompt_tokens: 17,
        completion_tokens: 7,
        total_tokens: 24,
        prompt_tokens_details: { cached_tokens: 4 },
      },
      baton: {
        mode: "disaggregated",
        prefill_worker: "p1",
        decode_worker: null,
        prompts: [
          { mode: "disaggregated", prefill_worker: "p1", decode_worker: "d1" },
          { mode: "disaggregated", prefill_worker: "p1", decode_worker: "d2" },
        ],
      },
    });
  });
});

it("is nothing where nothing was asked for", () => {
  expect(summaryFields([summary], plainWish, false)).toEqual({});
});
