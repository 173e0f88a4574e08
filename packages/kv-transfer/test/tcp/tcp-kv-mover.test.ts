import { VirtualClock } from "@baton/runtime";
import { afterEach, describe, expect, it } from "vitest";
import { TcpKvMover } from "../../src/index.ts";
import { kvMoverContract } from "../kv-mover-contract.ts";
import {
  createDesk,
  handoffCount,
  rejectionOf,
  sourceOf,
  stageOn,
  turnsUntil,
} from "../support.ts";
import { tcpPair, tcpSide } from "./tcp-pair.ts";

kvMoverContract("TcpKvMover", () => tcpPair());

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function pairOf(...args: Parameters<typeof tcpPair>) {
  const pair = await tcpPair(...args);
  closers.push(() => pair.close());
  return pair;
}

describe("TcpKvMover", () => {
  it("uses one connection for pulls that follow each other, and closes it when idle", async () => {
    const pair = await pairOf({ idleMs: 5_000 });
    for (const name of ["a", "b", "c"]) {
      const source = sourceOf([100], 5);
      const ticket = stageOn(pair.source, pair.sourceMover.address, source, source.bytes, name);
      await pair.pullerMover.pull({ ticket, parts: [0, "tail"], onPart: () => {} }).done;
    }
    expect(pair.pullerMover.connections).toBe(1);

    await pair.clock.advanceBy(5_500);
    await turnsUntil(() => pair.pullerMover.connections + pair.sourceMover.connections === 0);
    await pair.clock.advanceBy(1_000);

    expect(pair.clock.pendingTimers).toBe(1); // the ledger's lease timer, which covers nothing any more
  });

  it("names one host in tickets and may listen on another", async () => {
    const clock = new VirtualClock();
    const desk = createDesk(clock);
    const mover = new TcpKvMover(
      { host: "localhost", listenHost: "127.0.0.1", port: 0 },
      { clock, counters: desk.counters, desk: desk.ledger },
    );
    closers.push(() => mover.close());
    await mover.listen();
    const puller = await tcpSide(clock);
    closers.push(() => puller.mover.close());
    const ticket = stageOn(desk, mover.address, sourceOf([100]), 100, "a");

    await puller.mover.pull({ ticket, parts: [0], onPart: () => {} }).done;

    expect(mover.address).toMatch(/^localhost:\d+$/);
  });

  it("starts anew when a kept connection turns out to be dead", async () => {
    const clock = new VirtualClock();
    const puller = await tcpSide(clock);
    closers.push(() => puller.mover.close());
    const first = await tcpSide(clock);
    const source = sourceOf([100]);
    const one = stageOn(first.desk, first.mover.address, source, 100, "a");
    await puller.mover.pull({ ticket: one, parts: [0], onPart: () => {} }).done;
    const port = Number(first.mover.address?.split(":")[1]);
    const two = stageOn(first.desk, first.mover.address, source, 100, "b");
    const closing = first.mover.close();
    const pull = puller.mover.pull({ ticket: two, parts: [0], onPart: () => {} });
    await closing;
    const desk = createDesk(clock);
    const again = new TcpKvMover(
      { host: "127.0.0.1", port },
      { clock, counters: desk.counters, desk: desk.ledger },
    );
    closers.push(() => again.close());

    const error = await rejectionOf(pull.done);

    expect(error.code).toBe("kv_transfer_failed");
    expect(error.details.problem).toBe("the source cannot be reached");
  });

  it("keeps a pull from the end of the one before it, whose KV is freed just then", async () => {
    const pair = await pairOf();
    const source = sourceOf([100]);
    const one = stageOn(pair.source, pair.sourceMover.address, source, 100, "a");
    const two = stageOn(pair.source, pair.sourceMover.address, source, 100, "b");
    await pair.pullerMover.pull({ ticket: one, parts: [0], onPart: () => {} }).done;

    // The source has not read yet that the first one was taken.
    expect(pair.source.ledger.release(one.handoffId)).toBe(true);
    await pair.pullerMover.pull({ ticket: two, parts: [0], onPart: () => {} }).done;
    await turnsUntil(() => pair.source.ledger.held === 0);

    expect(handoffCount(pair.source, "pulled")).toBe(1);
  });

  it("says which address it cannot listen on", async () => {
    const clock = new VirtualClock();
    const first = await tcpSide(clock);
    closers.push(() => first.mover.close());
    const desk = createDesk(clock);
    const second = new TcpKvMover(
      { host: "127.0.0.1", port: Number(first.mover.address?.split(":")[1]) },
      { clock, counters: desk.counters, desk: desk.ledger },
    );
    closers.push(() => second.close());

    expect(await rejectionOf(second.listen())).toMatchObject({
      code: "config_invalid",
      message: `cannot listen on ${first.mover.address}: the port is in use`,
    });
  });
});
