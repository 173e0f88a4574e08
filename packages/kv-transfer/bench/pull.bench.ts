import { requestId, workerId } from "@baton/protocol";
import { noMetrics, RealClock, SeededRandom } from "@baton/runtime";
import { bench, describe } from "vitest";
import { createKvTransferMetrics, HandoffLedger, TcpKvMover } from "../src/index.ts";

const clock = new RealClock();
const counters = createKvTransferMetrics(noMetrics);

async function side() {
  const ledger = new HandoffLedger(
    {},
    { clock, random: new SeededRandom(1), metrics: noMetrics, counters, onFreed: () => undefined },
  );
  const mover = new TcpKvMover({ host: "127.0.0.1", port: 0 }, { clock, counters, desk: ledger });
  await mover.listen();
  return { ledger, mover };
}

describe("a pull over a kept connection", async () => {
  const source = await side();
  const puller = await side();
  let last = 0;
  const pullOnce = (parts: readonly number[], partBytes: number) => {
    const bytes = new Uint8Array(partBytes);
    const ticket = source.ledger.stage(
      requestId(`r${last++}`),
      { read: () => Promise.resolve(bytes) },
      {
        prefillWorkerId: workerId("w"),
        prefillGeneration: 1,
        dpRank: 0,
        transport: "blocks",
        address: source.mover.address,
        bytes: partBytes * parts.length,
        blocks: parts.length,
        descriptor: null,
        firstTokens: [],
        promptTokens: 1,
        cachedTokens: 0,
        engineParams: null,
      },
    );
    return puller.mover.pull({ ticket, parts, onPart: () => undefined }).done;
  };
  bench("of nothing", () => pullOnce([], 0));
  bench("of 8 parts of 256 bytes", () => pullOnce([0, 1, 2, 3, 4, 5, 6, 7], 256));
  bench("of 64 parts of 368,640 bytes", () =>
    pullOnce(
      Array.from({ length: 64 }, (_, i) => i),
      368_640,
    ),
  );
});
