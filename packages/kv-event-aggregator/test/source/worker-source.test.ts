import { workerId } from "@baton/protocol";
import { ManualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { RankSource } from "../../src/source/rank-source.ts";
import { makeTableCounts } from "../../src/source/source-table.ts";
import { WorkerSource } from "../../src/source/worker-source.ts";
import { model } from "../support/kv-world.ts";

function sourceWithRank() {
  const clock = new ManualClock();
  const source = new WorkerSource({ id: workerId("w"), generation: 1, model, dpRanks: [0] });
  const rank = new RankSource(
    { attempts: 1, firstBackoffMs: 1, maxBackoffMs: 1, bufferedBatches: 1 },
    { clock, counts: makeTableCounts(), emit: () => true, ask: () => undefined },
  );
  source.ranks.set(0, rank);
  return { clock, source, rank };
}

describe("WorkerSource", () => {
  it("holds and resumes all its ranks, with one timer", async () => {
    const { clock, source, rank } = sourceWithRank();
    let fired = 0;
    const timer = () =>
      clock.setTimer(100, () => {
        fired += 1;
      });

    source.hold(timer());
    source.hold(timer());
    expect([source.isHeld, rank.state, clock.pendingTimers]).toEqual([true, "held", 1]);
    source.resume();
    await clock.advanceBy(1_000);

    expect([source.isHeld, rank.state, fired]).toEqual([false, "asking", 0]);
  });

  it("closes all its ranks, and its timer", () => {
    const { clock, source, rank } = sourceWithRank();
    source.hold(clock.setTimer(100, () => undefined));

    source.close();

    expect([source.isHeld, rank.state, clock.pendingTimers]).toEqual([false, "closed", 0]);
  });
});
