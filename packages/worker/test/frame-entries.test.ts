import type { FrameEntry } from "@baton/protocol";
import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { FrameEntries } from "../src/frame-entries.ts";

const entry = (facts: Partial<FrameEntry>): FrameEntry => ({
  stream: 1,
  choice: 0,
  offset: 0,
  tokens: [7],
  logprobs: null,
  end: null,
  ...facts,
});
const logprob = { token: 7, logprob: -0.5, top: [] };
const stopped = { reason: "stop", error: null, cachedTokens: 3 } as const;

function taken(...added: readonly FrameEntry[]): readonly FrameEntry[] {
  const entries = new FrameEntries();
  for (const one of added) entries.add(one);
  return entries.take();
}

describe("FrameEntries", () => {
  it("joins a choice's tokens that follow each other, their log-probabilities and the end", () => {
    const joined = taken(
      entry({ offset: 4, tokens: [1, 2], logprobs: [null, logprob] as never }),
      entry({ stream: 2, tokens: [9] }),
      entry({ offset: 6, tokens: [3], logprobs: [logprob] as never }),
      entry({ offset: 7, tokens: [], logprobs: [], end: stopped }),
    );

    expect(joined).toEqual([
      entry({
        offset: 4,
        tokens: [1, 2, 3],
        logprobs: [null, logprob, logprob] as never,
        end: stopped,
      }),
      entry({ stream: 2, tokens: [9] }),
    ]);
  });

  it.each([
    ["another choice", entry({ choice: 1, offset: 1 })],
    ["a gap", entry({ offset: 2 })],
    ["a repeat", entry({ offset: 0 })],
    ["tokens with log-probabilities after such without", entry({ offset: 1, logprobs: [null] })],
  ])("keeps %s apart", (_, second) => {
    expect(taken(entry({}), second)).toEqual([entry({}), second]);
  });

  it("keeps apart what comes after an end, and tokens without log-probabilities after such with", () => {
    const failed = {
      reason: "error",
      error: new ServingError("engine_lost"),
      cachedTokens: 0,
    } as const;

    expect(taken(entry({ end: failed }), entry({ offset: 1 }))).toHaveLength(2);
    expect(taken(entry({ logprobs: [null] }), entry({ offset: 1 }))).toHaveLength(2);
  });

  it("changes nothing that it was given", () => {
    const [first, second] = [
      entry({ logprobs: [logprob] as never }),
      entry({ offset: 1, logprobs: [logprob] as never }),
    ];
    taken(first, second, entry({ offset: 2, logprobs: [logprob] as never, end: stopped }));

    expect(first).toEqual(entry({ logprobs: [logprob] as never }));
    expect(second).toEqual(entry({ offset: 1, logprobs: [logprob] as never }));
  });

  it("begins anew once its entries are taken", () => {
    const entries = new FrameEntries();
    entries.add(entry({}));
    entries.take();
    entries.add(entry({ offset: 1 }));

    expect(entries.isEmpty).toBe(false);
    expect(entries.take()).toEqual([entry({ offset: 1 })]);
    expect(entries.isEmpty).toBe(true);
  });
});
