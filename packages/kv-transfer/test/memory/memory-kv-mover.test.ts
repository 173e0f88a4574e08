import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { MemoryKvExchange, MemoryKvMover } from "../../src/index.ts";
import { kvMoverContract, type MoverPair } from "../kv-mover-contract.ts";
import { createDesk, sourceOf, stageOn } from "../support.ts";

async function createPair(delayMs?: (bytes: number) => number): Promise<MoverPair> {
  const clock = new VirtualClock();
  const exchange = new MemoryKvExchange();
  const options = delayMs === undefined ? { exchange } : { exchange, delayMs };
  const create = async () => {
    const desk = createDesk(clock);
    const mover = new MemoryKvMover(options, { clock, counters: desk.counters, desk: desk.ledger });
    await mover.listen();
    return { desk, mover };
  };
  const source = await create();
  const puller = await create();
  return {
    source: source.desk,
    sourceMover: source.mover,
    puller: puller.desk,
    pullerMover: puller.mover,
    until: async (condition) => {
      if (!(await clock.runUntilTrue(condition, 20_000)))
        throw new Error("the condition never held");
    },
    close: async () => {
      await source.mover.close();
      await puller.mover.close();
    },
  };
}

kvMoverContract("MemoryKvMover", () => createPair());
kvMoverContract("MemoryKvMover with delays", () => createPair((bytes) => 1 + bytes / 1_000));

describe("MemoryKvMover", () => {
  it("takes the time of its delays", async () => {
    const pair = await createPair((bytes) => (bytes === 0 ? 2 : bytes));
    const clock = pair.source.clock;
    const startMs = clock.nowMs();
    const ticket = stageOn(pair.source, pair.sourceMover.address, sourceOf([10], 5), 15);
    let doneMs = 0;
    void pair.pullerMover.pull({ ticket, parts: [0, "tail"], onPart: () => {} }).done.then(() => {
      doneMs = clock.nowMs();
    });

    await clock.runUntilIdle(100_000);

    expect(doneMs - startMs).toBe(2 + 10 + 5);
  });
});
