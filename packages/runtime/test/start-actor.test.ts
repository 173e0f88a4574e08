import {
  ActorHeartbeat,
  actorId,
  namespaceName,
  ProbeReply,
  ServingError,
  Subjects,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ActorContext, ActorDefinition, ActorInstance } from "../src/actor.ts";
import { MemoryNetwork } from "../src/bus/memory-network.ts";
import { silentLogger } from "../src/logger.ts";
import { createMetricsRegistry } from "../src/metrics-registry.ts";
import { noMetrics } from "../src/no-metrics.ts";
import { SeededRandom } from "../src/seeded-random.ts";
import { startActor } from "../src/start-actor.ts";
import { VirtualClock } from "../src/virtual-clock.ts";

const namespace = namespaceName("default");

function cluster(instance: Partial<ActorInstance> & { sync?: boolean } = {}) {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const network = new MemoryNetwork({ clock, random });
  const registry = createMetricsRegistry();
  const contexts: ActorContext[] = [];
  const definition: ActorDefinition<null> = {
    role: "discovery",
    options: { name: "discovery", schema: z.null(), fields: [] },
    create: (context) => {
      contexts.push(context);
      return {
        start: async () => context.setSynced(instance.sync ?? true),
        drain: async () => undefined,
        stop: async () => undefined,
        ...instance,
      };
    },
  };
  const actor = startActor(definition, {
    id: "d-1",
    namespace,
    config: null,
    connect: async (options) => network.connect(options),
    clock,
    random: random.fork("d-1"),
    log: silentLogger(),
    metrics: (id) => registry.forActor("discovery", id),
    identity: { host: "h", pid: 1, admin: null },
    drainTimeoutMs: 1_000,
    lastGeneration: 5,
  });
  const heard: ActorHeartbeat[] = [];
  const subjects = new Subjects(namespace);
  network.observe((message) => {
    if (message.subject === subjects.heartbeat("discovery", null, actor.id)) {
      heard.push(ActorHeartbeat.decode(message.payload));
    }
  });
  return { clock, network, registry, actor, heard, subjects, contexts };
}

describe("startActor", () => {
  it("is ready once it is connected, started and synced, and says so in its heartbeat", async () => {
    const { clock, actor, heard } = cluster();

    await clock.advanceBy(600);

    expect(actor.state).toBe("ready");
    expect(actor.generation).toBe(1_700_000_000_000);
    expect(heard.map((beat) => [beat.sequence, beat.state])).toEqual([
      [0, "syncing"],
      [1, "ready"],
      [2, "ready"],
      [3, "ready"],
    ]);
  });

  it("answers pings with a heartbeat that takes no number away, and probes with its generation", async () => {
    const { clock, network, actor, heard, subjects } = cluster();
    await clock.advanceBy(1);
    const tool = network.connect({
      id: actorId("tool"),
      subjects,
      clock,
      log: silentLogger(),
      metrics: noMetrics,
    });
    const pings: ActorHeartbeat[] = [];
    const probes: ProbeReply[] = [];

    const nothing = new Uint8Array(0);
    tool.requestMany(subjects.ping(), nothing, (reply) => pings.push(ActorHeartbeat.decode(reply)));
    const probe = tool.request(subjects.probe("discovery", actor.id), nothing, { timeoutMs: 100 });
    void probe.then((reply) => probes.push(ProbeReply.decode(reply)));
    await clock.advanceBy(600);

    expect(pings).toMatchObject([{ id: "d-1", state: "ready" }]);
    expect(probes).toEqual([{ id: "d-1", generation: actor.generation }]);
    expect(heard.map((beat) => beat.sequence)).toEqual([0, 1, 2, 3]);
  });

  it("is degraded while the bus is gone and ready when it is back", async () => {
    const { clock, network, actor } = cluster();
    await clock.advanceBy(1);

    network.stopServer();
    expect(actor.state).toBe("degraded");
    expect(actor.why).toBe("the message bus is gone");
    network.startServer();

    expect(actor.state).toBe("ready");
  });

  it("comes back to syncing when its view was lost with the bus", async () => {
    const { clock, network, actor, contexts } = cluster();
    await clock.advanceBy(1);

    network.stopServer();
    contexts[0]?.setSynced(false, "waits for Discovery");
    network.startServer();

    expect([actor.state, actor.why]).toEqual(["syncing", "waits for Discovery"]);
  });

  it("drains, says goodbye, and leaves no timer and no figure behind", async () => {
    let finish: () => void = () => undefined;
    const { clock, actor, heard, registry } = cluster({
      drain: () => new Promise((resolve) => (finish = resolve)),
    });
    await clock.advanceBy(1);
    expect(await registry.text()).toContain('id="d-1"');

    const drained = actor.drain();
    expect(actor.state).toBe("draining");
    finish();
    await clock.advanceBy(100);
    await drained;

    expect(heard.map((beat) => beat.state)).toEqual(["syncing", "ready", "draining", "stopped"]);
    expect(clock.pendingTimers).toBe(0);
    expect(await registry.text()).not.toContain('id="d-1"');
    expect(await actor.done).toEqual({ failure: null });
  });

  it("ends a drain that takes too long", async () => {
    const { clock, actor } = cluster({ drain: () => new Promise(() => undefined) });
    await clock.advanceBy(1);

    const drained = actor.drain();
    await clock.advanceBy(1_010);
    await drained;

    expect(actor.state).toBe("stopped");
  });

  it("ends with the failure of its start", async () => {
    const { clock, actor } = cluster({
      start: () => Promise.reject(new ServingError("engine_failed", { problem: "no model" })),
    });

    await clock.advanceBy(10);

    expect((await actor.done).failure).toMatchObject({ code: "engine_failed" });
    await expect(actor.whenState("ready")).rejects.toMatchObject({ code: "not_ready" });
  });

  it("says no goodbye when it is killed", async () => {
    const { clock, actor, heard } = cluster();
    await clock.advanceBy(1);

    await actor.kill();

    expect(heard.at(-1)?.state).toBe("ready");
    expect(clock.pendingTimers).toBe(0);
  });
});
