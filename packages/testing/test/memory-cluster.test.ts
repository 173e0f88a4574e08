import type { ActorDefinition } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { memoryCluster } from "../src/memory-cluster.ts";

const greeter: ActorDefinition<{ readonly word: string }> = {
  role: "worker",
  options: { name: "worker", schema: z.object({ word: z.string() }), fields: [] },
  create: (context, config) => ({
    start: async () => {
      context.bus.subscribe("greet", (message) => message.respond(Buffer.from(config.word)));
      context.setSynced(true);
    },
    drain: async () => undefined,
    stop: async () => undefined,
  }),
};

function transcript(seed: number) {
  const cluster = memoryCluster({ seed, minDelayMs: 0.1, maxDelayMs: 5 });
  const lines: string[] = [];
  cluster.network.observe((message) =>
    lines.push(
      `${message.atMs} ${message.from} ${message.subject} ${Buffer.from(message.payload).toString("hex")}`,
    ),
  );
  return { cluster, lines };
}

describe("memoryCluster", () => {
  it("runs an actor that answers on the bus", async () => {
    const { cluster } = transcript(1);
    cluster.start(greeter, { word: "hello" });
    const bus = cluster.bus("client");
    await cluster.clock.advanceBy(10);

    const answer = bus.request("greet", new Uint8Array(0), { timeoutMs: 100 });
    await cluster.clock.advanceBy(100);

    expect(Buffer.from(await answer).toString()).toBe("hello");
  });

  it("repeats byte for byte from the same seed and differs with another", async () => {
    const runs = await Promise.all(
      [7, 7, 8].map(async (seed) => {
        const { cluster, lines } = transcript(seed);
        for (let index = 0; index < 3; index++) cluster.start(greeter, { word: `w${index}` });
        await cluster.clock.advanceBy(2_000);
        return lines;
      }),
    );

    expect(runs[0]?.length).toBeGreaterThan(20);
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).not.toEqual(runs[0]);
  });

  it("stops an actor's timers and messages while its member is paused", async () => {
    const { cluster, lines } = transcript(1);
    const actor = cluster.start(greeter, { word: "hello" });
    await cluster.clock.advanceBy(1_000);

    cluster.network.pause(actor.id);
    const before = lines.length;
    await cluster.clock.advanceBy(1_000);
    expect(lines.length).toBe(before);
    cluster.network.resume(actor.id);
    await cluster.clock.advanceBy(1_000);

    expect(lines.length).toBeGreaterThan(before);
  });

  it("gives a context whose notices the test can read", () => {
    const context = memoryCluster().context({ role: "discovery", id: "d-1" });

    context.setSynced(false, "waits");
    context.setSynced(true);
    context.fail("broken");

    expect(context.syncs).toEqual(["waits", null]);
    expect(context.failures).toEqual(["broken"]);
  });
});
