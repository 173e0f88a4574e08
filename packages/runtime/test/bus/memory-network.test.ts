import { expect } from "vitest";
import { MemoryNetwork } from "../../src/bus/memory-network.ts";
import { SeededRandom } from "../../src/seeded-random.ts";
import { VirtualClock } from "../../src/virtual-clock.ts";
import { type BusWorld, busContract } from "./bus-contract.ts";

for (const [name, maxDelayMs] of [
  ["without delay", 0],
  ["with drawn delays", 3],
] as const) {
  busContract(`memory bus ${name}`, async (): Promise<BusWorld> => {
    const clock = new VirtualClock();
    const random = new SeededRandom(name);
    const network = new MemoryNetwork({ clock, random, maxDelayMs, maxPayloadBytes: 4_096 });
    return {
      clock,
      maxPayloadBytes: 4_096,
      connect: async (options) => network.connect(options),
      until: async (condition) => {
        expect(await clock.runUntilTrue(condition, 10_000)).toBe(true);
      },
      settle: () => clock.advanceBy(100),
      stopServer: async () => network.stopServer(),
      startServer: async (maxPayloadBytes) => network.startServer(maxPayloadBytes),
      end: async () => {
        await clock.runUntilIdle();
        expect(clock.pendingTimers).toBe(0);
      },
    };
  });
}
