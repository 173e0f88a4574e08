import { VirtualClock } from "@baton/runtime";
import { TcpKvMover, type TransferLimits } from "../../src/index.ts";
import type { MoverPair } from "../kv-mover-contract.ts";
import { createDesk, type Desk, turnsUntil } from "../support.ts";

/** A mover on a free port of this machine, with its ledger. Time stands still unless the test moves it. */
export async function tcpSide(
  clock: VirtualClock,
  limits: Partial<TransferLimits> = {},
): Promise<{ desk: Desk; mover: TcpKvMover }> {
  const desk = createDesk(clock);
  const mover = new TcpKvMover(
    { host: "127.0.0.1", port: 0, limits },
    { clock, counters: desk.counters, desk: desk.ledger },
  );
  await mover.listen();
  return { desk, mover };
}

export async function tcpPair(
  limits: Partial<TransferLimits> = {},
): Promise<MoverPair & { sourceMover: TcpKvMover; pullerMover: TcpKvMover; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const source = await tcpSide(clock, limits);
  const puller = await tcpSide(clock, limits);
  return {
    clock,
    source: source.desk,
    sourceMover: source.mover,
    puller: puller.desk,
    pullerMover: puller.mover,
    until: turnsUntil,
    close: async () => {
      await source.mover.close();
      await puller.mover.close();
      await turnsUntil(() => source.mover.connections + puller.mover.connections === 0);
    },
  };
}
