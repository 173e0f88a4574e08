import { actorId, namespaceName, Subjects } from "@baton/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryNetwork, type MemoryNetworkOptions } from "../../src/bus/memory-network.ts";
import { silentLogger } from "../../src/logger.ts";
import { createMetricsRegistry } from "../../src/metrics-registry.ts";
import { ProcessClock } from "../../src/process-clock.ts";
import { SeededRandom } from "../../src/seeded-random.ts";
import { VirtualClock } from "../../src/virtual-clock.ts";

const subjects = new Subjects(namespaceName("default"));
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const text = (payload: Uint8Array) => Buffer.from(payload).toString();

function world(options: Partial<MemoryNetworkOptions> = {}, seed = 1) {
  const clock = new VirtualClock();
  const network = new MemoryNetwork({ clock, random: new SeededRandom(seed), ...options });
  const registry = createMetricsRegistry();
  const join = (name: string) => {
    const process = new ProcessClock(clock);
    const bus = network.connect({
      id: actorId(name),
      subjects,
      clock: process,
      process,
      log: silentLogger(),
      metrics: registry.forActor("test", name),
    });
    return { bus, process, id: actorId(name) };
  };
  return { clock, network, registry, join };
}

describe("members of a MemoryNetwork", () => {
  it("keeps the order from one publisher to one subscriber, whatever the delays", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(fc.nat({ max: 5 }), { maxLength: 30 }),
        async (seed, gaps) => {
          const { clock, join } = world({ minDelayMs: 0, maxDelayMs: 20 }, seed);
          const [a, b] = [join("a"), join("b")];
          const heard: number[] = [];
          b.bus.subscribe("x", (message) => heard.push(Number(text(message.payload))));

          for (const [index, gapMs] of gaps.entries()) {
            a.bus.publish("x", bytes(String(index)));
            await clock.advanceBy(gapMs);
          }
          await clock.runUntilIdle();

          expect(heard).toEqual(gaps.map((_, index) => index));
        },
      ),
      { numRuns: 50 },
    );
  });

  it("does not keep the order of different publishers", async () => {
    const { clock, join } = world({ minDelayMs: 0, maxDelayMs: 20 });
    const [a, b, c] = [join("a"), join("b"), join("c")];
    const heard: string[] = [];
    c.bus.subscribe("x", (message) => heard.push(text(message.payload)));

    for (let index = 0; index < 50; index++) {
      a.bus.publish("x", bytes("a"));
      b.bus.publish("x", bytes("b"));
    }
    await clock.runUntilIdle();

    expect(heard.join("")).not.toBe("ab".repeat(50));
  });

  it("shares no memory between publisher and subscribers", async () => {
    const { clock, join } = world();
    const [a, b] = [join("a"), join("b")];
    const heard: Uint8Array[] = [];
    for (const member of [a, b]) member.bus.subscribe("x", ({ payload }) => heard.push(payload));
    const payload = bytes("hello");

    a.bus.publish("x", payload);
    payload.fill(0);
    await clock.runUntilIdle();
    heard[0]?.fill(1);

    expect(text(heard[1] ?? payload)).toBe("hello");
  });

  it("loses what is on its way to a member that is cut off, and nothing else", async () => {
    const { clock, network, join } = world({ minDelayMs: 5 });
    const [a, b] = [join("a"), join("b")];
    const heard: string[] = [];
    b.bus.subscribe("x", (message) => heard.push(text(message.payload)));
    const bounced: string[] = [];
    a.bus.onUndeliverable((key) => bounced.push(key));

    a.bus.publish("x", bytes("lost"), { bounceKey: "under-way" });
    network.disconnect(b.id);
    a.bus.publish("x", bytes("bounced"), { bounceKey: "gone" });
    network.reconnect(b.id);
    a.bus.publish("x", bytes("arrives"));
    await clock.runUntilIdle();

    expect(heard).toEqual(["arrives"]);
    expect(bounced).toEqual(["gone"]);
  });

  it("ends a killed member without a word: no handler, no timer, no answer", async () => {
    const { clock, network, join } = world({ minDelayMs: 5 });
    const [a, b] = [join("a"), join("b")];
    const seen: string[] = [];
    b.bus.subscribe("x", () => seen.push("heard"));
    b.bus.onState((state) => seen.push(state));
    b.process.setTimer(50, () => seen.push("timer"));
    void b.bus.request("nobody", bytes(""), { timeoutMs: 10 }).catch(() => seen.push("answer"));
    a.bus.publish("x", bytes("1"));

    network.kill(b.id);
    b.bus.publish("x", bytes("from the dead"));
    await clock.runUntilIdle();

    expect(seen).toEqual([]);
    await expect(
      Promise.all([a.bus.request("x", bytes(""), { timeoutMs: 100 }), clock.runUntilIdle()]),
    ).rejects.toMatchObject({ code: "no_responders" });
  });

  it("keeps messages for a stopped member up to the limit, and counts what it lost when it goes on", async () => {
    const { clock, network, registry, join } = world({ maxPendingMessages: 10 });
    const [a, b] = [join("a"), join("b")];
    const heard: string[] = [];
    b.bus.subscribe("x", (message) => heard.push(text(message.payload)));

    network.pause(b.id);
    for (let index = 0; index < 15; index++) a.bus.publish("x", bytes(String(index)));
    await clock.runUntilIdle();
    expect(heard).toEqual([]);
    network.resume(b.id);
    await clock.runUntilIdle();

    expect(heard).toEqual(Array.from({ length: 10 }, (_, index) => String(index)));
    expect(await registry.text()).toContain(
      'baton_bus_slow_consumers_total{actor="test",id="b"} 1',
    );
  });

  it.each(["in", "out"] as const)(
    "keeps what is on its way %s until the path is whole again, in order",
    async (direction) => {
      const { clock, network, join } = world({ maxDelayMs: 2 });
      const [a, b] = [join("a"), join("b")];
      const heard: string[] = [];
      const back: string[] = [];
      a.bus.subscribe("back", (message) => back.push(text(message.payload)));
      b.bus.subscribe("there", (message) => heard.push(text(message.payload)));

      network.holdBack(direction === "in" ? b.id : a.id, direction);
      for (let index = 0; index < 3; index++) a.bus.publish("there", bytes(String(index)));
      b.bus.publish("back", bytes("x"));
      await clock.advanceBy(100);
      expect(heard).toEqual([]);
      expect(back).toEqual(["x"]);
      network.letThrough(direction === "in" ? b.id : a.id);
      await clock.runUntilIdle();

      expect(heard).toEqual(["0", "1", "2"]);
    },
  );

  it("loses what waits for the way out when the connection breaks", async () => {
    const { clock, network, join } = world();
    const [a, b] = [join("a"), join("b")];
    const heard: string[] = [];
    b.bus.subscribe("there", (message) => heard.push(text(message.payload)));

    network.holdBack(a.id, "out");
    a.bus.publish("there", bytes("lost"));
    network.disconnect(a.id);
    network.reconnect(a.id);
    a.bus.publish("there", bytes("sent"));
    await clock.runUntilIdle();

    expect(heard).toEqual(["sent"]);
  });

  it("loses a share of a member's messages without a word, both ways", async () => {
    const { clock, network, join } = world();
    const [a, b, c] = [join("a"), join("b"), join("c")];
    const heard: string[] = [];
    const bounced: string[] = [];
    a.bus.onUndeliverable((key) => bounced.push(key));
    for (const member of [b, c]) {
      member.bus.subscribe("there", (message) => {
        heard.push(`${member.id} ${text(message.payload)}`);
      });
    }

    network.lose(b.id, 1);
    a.bus.publish("there", bytes("1"), { bounceKey: "k" });
    b.bus.publish("there", bytes("2"));
    await clock.runUntilIdle();
    network.lose(b.id, 0);
    a.bus.publish("there", bytes("3"));
    await clock.runUntilIdle();

    expect(heard).toEqual(["c 1", "b 3", "c 3"]);
    expect(bounced).toEqual([]);
  });

  it("shows an observer every message, which counts as no listener", async () => {
    const { clock, network, join } = world();
    const a = join("a");
    const seen: [string, string, number][] = [];
    const bounced: string[] = [];
    a.bus.onUndeliverable((key) => bounced.push(key));
    const observation = network.observe(({ from, subject, receivers }) =>
      seen.push([from, subject, receivers]),
    );

    a.bus.publish("nobody", bytes("x"), { bounceKey: "k" });
    await clock.runUntilIdle();
    observation.unsubscribe();
    a.bus.publish("nobody", bytes("x"));

    expect(seen).toEqual([["a", "nobody", 0]]);
    expect(bounced).toEqual(["k"]);
  });

  it("repeats from a seed: delays and choices in queue groups", async () => {
    const run = async (seed: number) => {
      const { clock, join } = world({ maxDelayMs: 5 }, seed);
      const lines: string[] = [];
      const [a, b, c] = [join("a"), join("b"), join("c")];
      for (const member of [b, c]) {
        member.bus.subscribe(
          "work",
          (message) => lines.push(`${member.id} ${text(message.payload)} ${clock.nowMs()}`),
          { queue: "q" },
        );
      }
      for (let index = 0; index < 20; index++) a.bus.publish("work", bytes(String(index)));
      await clock.runUntilIdle();
      return lines;
    };

    expect(await run(5)).toEqual(await run(5));
    expect(await run(5)).not.toEqual(await run(6));
  });

  it("drops parts of large messages that never become whole, and holds nothing afterwards", async () => {
    const { clock, network, registry, join } = world({ maxPayloadBytes: 1_024, minDelayMs: 1 });
    const [a, b] = [join("a"), join("b")];
    const heard: number[] = [];
    b.bus.subscribe("big", (message) => heard.push(message.payload.length), { queue: "q" });

    a.bus.publish("big", new Uint8Array(10_000));
    await clock.advanceBy(1.5);
    network.kill(a.id);
    await clock.runUntilIdle();

    expect(heard).toEqual([]);
    expect(await registry.text()).toContain(
      'baton_bus_dropped_total{actor="test",id="b",reason="unfinished_chunks"} 1',
    );
    expect(clock.pendingTimers).toBe(0);
  });
});
