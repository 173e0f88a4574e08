import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { StagedPrompt, simulatedBytesPerToken } from "../../../src/engines/mock/staged-prompt.ts";

function create(promptTokens: number, transferGbps: number, isGone = false) {
  const clock = new VirtualClock();
  const staged = new StagedPrompt({
    clock,
    blockSize: 16,
    promptTokens,
    transferGbps,
    exportBlock: (index) => {
      if (isGone) return undefined;
      return new Uint8Array(4 * Math.min(16, promptTokens - index * 16)).fill(index);
    },
  });
  return { clock, staged };
}

describe("StagedPrompt", () => {
  it.each([
    [1, 0, true],
    [16, 1, false],
    [33, 2, true],
  ])("of %i tokens has %i full blocks", (tokens, blocks, hasTail) => {
    const { staged } = create(tokens, 0);

    expect(staged).toMatchObject({ blocks, hasTail, bytes: tokens * 4 });
  });

  it("gives out blocks and tail without delay on a link that is not limited", async () => {
    const { staged } = create(33, 0);

    expect(await staged.read(1)).toEqual(new Uint8Array(64).fill(1));
    expect(await staged.read("tail")).toEqual(new Uint8Array(4).fill(2));
  });

  it("adds up what is too short to sleep for", async () => {
    const { clock, staged } = create(64, 16 * simulatedBytesPerToken * 1e-9 * 1_000 * 3);
    const startMs = clock.nowMs();
    const ends: number[] = [];
    const readAll = async () => {
      for (const part of [0, 1, 2, 3]) {
        await staged.read(part);
        ends.push(Math.round((clock.nowMs() - startMs) * 10) / 10);
      }
    };
    const reading = readAll();
    await clock.runUntilIdle();
    await reading;

    expect(ends[0]).toBe(0);
    expect(ends.at(-1)).toBeCloseTo(1.3, 0);
  });

  it("rejects when its KV is gone", async () => {
    const { staged } = create(16, 0, true);

    await expect(staged.read(0)).rejects.toMatchObject({ code: "kv_transfer_failed" });
  });
});
