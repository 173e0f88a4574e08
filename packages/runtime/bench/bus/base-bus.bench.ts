import { actorId, namespaceName, Subjects } from "@baton/protocol";
import { afterAll, bench, describe } from "vitest";
import type { BusOptions } from "../../src/bus/base-bus.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { MemoryNetwork } from "../../src/bus/memory-network.ts";
import { connectNats } from "../../src/bus/nats-bus.ts";
import { silentLogger } from "../../src/logger.ts";
import { createMetricsRegistry } from "../../src/metrics-registry.ts";
import { hasNatsServer, startNatsServer } from "../../src/nats-server.ts";
import { RealClock } from "../../src/real-clock.ts";
import { SystemRandom } from "../../src/system-random.ts";

const clock = new RealClock();
const payload = new Uint8Array(200);
const inFlight = 64;
const registry = createMetricsRegistry();

function options(id: string): BusOptions {
  return {
    id: actorId(id),
    subjects: new Subjects(namespaceName("bench")),
    clock,
    log: silentLogger(),
    metrics: registry.forActor("bench", id),
  };
}

/** One iteration is 64 requests at once; both ends are in this process. */
function benchRequests(name: string, asker: Bus, answerer: Bus): void {
  answerer.subscribe("echo", (message) => message.respond(message.payload));
  bench(`64 requests, ${name}`, async () => {
    const asks = Array.from({ length: inFlight }, () =>
      asker.request("echo", payload, { timeoutMs: 5_000 }),
    );
    await Promise.all(asks);
  });
}

describe("bus", async () => {
  const network = new MemoryNetwork({ clock, random: new SystemRandom() });
  benchRequests("in memory", network.connect(options("a")), network.connect(options("b")));
  if (!hasNatsServer()) return;
  const server = await startNatsServer();
  const [a, b] = await Promise.all(
    ["c", "d"].map((id) => connectNats({ url: server.url }, options(id))),
  );
  if (a === undefined || b === undefined) return;
  benchRequests("over NATS", a, b);
  await b.flush();
  afterAll(async () => {
    await Promise.all([a.close(), b.close()]);
    await server.stop();
  });
});
