import { afterAll, beforeAll } from "vitest";
import { connectNats } from "../../src/bus/nats-bus.ts";
import { type NatsServer, startNatsServer } from "../../src/nats-server.ts";
import { RealClock } from "../../src/real-clock.ts";
import { busContract } from "./bus-contract.ts";
import { natsSuite } from "./nats-suite.ts";

const clock = new RealClock();

async function until(condition: () => boolean): Promise<void> {
  const untilMs = clock.nowMs() + 8_000;
  while (!condition()) {
    if (clock.nowMs() > untilMs) throw new Error("waited too long");
    await clock.sleep(2);
  }
}

natsSuite("nats bus", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer({ maxPayload: 4_096 });
  });
  afterAll(() => server.stop());

  busContract("contract", async () => ({
    clock,
    maxPayloadBytes: 4_096,
    connect: (options) => connectNats({ url: server.url }, options),
    until,
    settle: () => clock.sleep(30),
    stopServer: () => server.kill(),
    startServer: (maxPayload) => server.restart({ maxPayload: maxPayload ?? 4_096 }),
    end: async () => undefined,
  }));
});
