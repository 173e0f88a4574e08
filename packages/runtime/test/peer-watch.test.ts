import { actorId, namespaceName, Subjects } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ActorDefinition } from "../src/actor.ts";
import { MemoryNetwork } from "../src/bus/memory-network.ts";
import { silentLogger } from "../src/logger.ts";
import { noMetrics } from "../src/no-metrics.ts";
import { PeerWatch } from "../src/peer-watch.ts";
import { ProcessClock } from "../src/process-clock.ts";
import type { RunningActor } from "../src/running-actor.ts";
import { SeededRandom } from "../src/seeded-random.ts";
import { startActor } from "../src/start-actor.ts";
import { VirtualClock } from "../src/virtual-clock.ts";

const namespace = namespaceName("default");
const worker: ActorDefinition<null> = {
  role: "worker",
  options: { name: "worker", schema: z.null(), fields: [] },
  create: (context) => ({
    start: async () => context.setSynced(true),
    drain: async () => undefined,
    stop: async () => undefined,
  }),
};

function world(flush: () => Promise<void> = () => Promise.resolve(), asksLost = false) {
  const clock = new VirtualClock();
  const random = new SeededRandom(3);
  const network = new MemoryNetwork({ clock, random, minDelayMs: 0.1, maxDelayMs: 1 });
  const subjects = new Subjects(namespace);
  const log = silentLogger();
  const startMs = clock.nowMs();
  const told: string[] = [];
  const beats: string[] = [];
  const watcherProcess = new ProcessClock(clock);
  const bus = network.connect({
    id: actorId("watcher"),
    subjects,
    clock: watcherProcess,
    process: watcherProcess,
    log,
    metrics: noMetrics,
  });
  const answering = new Proxy(bus, {
    get: (target, name) => {
      if (name === "flush") return flush;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const watch = new PeerWatch(
    { bus: answering, clock: watcherProcess, subjects, log },
    { roles: ["worker"], asksLost },
    {
      onAlive: ({ heartbeat }) => told.push(`${heartbeat.id} ${heartbeat.state}`),
      onBeat: ({ heartbeat }) => beats.push(`${heartbeat.id} ${heartbeat.sequence}`),
      onLost: ({ heartbeat }, why) => told.push(`${heartbeat.id} lost ${why}`),
    },
  );
  watch.start();
  const start = (id: string) => {
    const process = new ProcessClock(clock);
    return startActor(worker, {
      id,
      namespace,
      config: null,
      connect: async (options) => network.connect({ ...options, process }),
      clock: process,
      random,
      log,
      metrics: noMetrics,
      identity: { host: "h", pid: 1, admin: null },
    });
  };
  const since = async (condition: () => boolean) => {
    const fromMs = clock.nowMs();
    expect(await clock.runUntilTrue(condition, 5_000)).toBe(true);
    return clock.nowMs() - fromMs;
  };
  return { clock, network, watch, told, beats, start, since, bus, startMs };
}

describe("PeerWatch", () => {
  it("knows a peer by its heartbeats and tells every change of its state", async () => {
    const { clock, watch, told, start } = world();
    const actor = start("w-1");

    await clock.advanceBy(600);

    expect(told.at(-1)).toBe("w-1 ready");
    expect(new Set(told).size).toBe(told.length);
    expect(watch.isAlive("w-1")).toBe(true);
    expect(watch.isAlive("w-1", actor.generation)).toBe(true);
    expect(watch.isAlive("w-1", actor.generation - 1)).toBe(false);
    expect(watch.peer("w-1")?.heartbeat.state).toBe("ready");
    expect(watch.peers("worker").length).toBe(1);
    expect(watch.peers("frontend")).toEqual([]);
  });

  it("tells each life sign, but for a goodbye", async () => {
    const { clock, beats, start } = world();
    const actor = start("w-1");
    await clock.advanceBy(5_000);
    const last = actor.heartbeat().sequence;
    expect(last).toBeGreaterThan(15);

    await actor.kill();
    await clock.advanceBy(2_000);

    expect(beats).toEqual(Array.from({ length: last }, (_, sequence) => `w-1 ${sequence}`));
  });

  it("sees a killed peer in less than a second, by its probe", async () => {
    const { clock, network, told, start, since, watch } = world();
    start("w-1");
    await clock.advanceBy(2_000);
    told.length = 0;

    network.kill(actorId("w-1"));
    const ms = await since(() => told.length > 0);
    await clock.advanceBy(3_000);

    expect(told).toEqual(["w-1 lost no_responders"]);
    expect(ms).toBeLessThan(1_000);
    expect(watch.peer("w-1")).toBeNull();
    expect(watch.peers()).toEqual([]);
  });

  it("sees it in a quarter of a second if somebody waits for it and has it asked", async () => {
    const { clock, network, told, start, since, watch } = world();
    start("w-1");
    start("w-2");
    await clock.advanceBy(2_000);
    told.length = 0;
    const waiting = clock.setRepeating(50, () => watch.ask("worker"));

    network.kill(actorId("w-1"));
    const ms = await since(() => told.length > 0);
    waiting.cancel();

    expect(told).toEqual(["w-1 lost no_responders"]);
    expect(ms).toBeLessThan(250);
  });

  it("does not take a peer for dead that nobody finds for a moment, as when it moves to another server", async () => {
    const { clock, network, told, start, watch } = world();
    start("w-1");
    await clock.advanceBy(2_000);
    told.length = 0;
    const waiting = clock.setRepeating(20, () => watch.ask("worker"));

    network.disconnect(actorId("w-1"));
    await clock.advanceBy(80);
    network.reconnect(actorId("w-1"));
    await clock.advanceBy(3_000);
    waiting.cancel();

    expect(told.filter((line) => line.includes("lost"))).toEqual([]);
  });

  it("sees a frozen peer in less than a second and a half, and sees it come back", async () => {
    const { clock, network, told, start, since, watch } = world();
    start("w-1");
    await clock.advanceBy(2_000);
    told.length = 0;

    network.pause(actorId("w-1"));
    const ms = await since(() => told.length > 0);
    expect(ms).toBeLessThan(1_500);
    expect(watch.isAlive("w-1")).toBe(false);
    network.resume(actorId("w-1"));
    await clock.advanceBy(1_000);

    expect(told).toEqual(["w-1 lost silent", "w-1 ready"]);
  });

  it("tells who is well beside one that hangs, until that one is back or gone from the bus", async () => {
    const { clock, network, start, watch, since } = world(undefined, true);
    start("w-1");
    start("w-2");
    await clock.advanceBy(2_000);
    const beside = () => watch.beside("worker")?.map(({ heartbeat }) => heartbeat.id) ?? null;
    expect(beside()).toBeNull();

    network.pause(actorId("w-1"));
    expect(await since(() => beside() !== null)).toBeLessThan(900);
    expect(beside()).toEqual(["w-2"]);
    await clock.advanceBy(5_000);
    expect(beside()).toEqual(["w-2"]);
    network.resume(actorId("w-1"));
    await since(() => beside() === null);

    network.pause(actorId("w-1"));
    await since(() => !watch.isAlive("w-1"));
    expect(beside()).toEqual(["w-2"]);
    network.kill(actorId("w-1"));
    expect(await since(() => beside() === null)).toBeLessThan(1_200);
  });

  it("leaves one that hangs alone once it is lost, unless it was told to ask on", async () => {
    const { clock, network, start, watch } = world();
    start("w-1");
    await clock.advanceBy(2_000);

    network.pause(actorId("w-1"));
    await clock.advanceBy(3_000);

    expect(watch.isAlive("w-1")).toBe(false);
    expect(watch.beside("worker")).toBeNull();
  });

  it("takes a stopped heartbeat for a goodbye", async () => {
    const { clock, told, start } = world();
    const actor = start("w-1");
    await clock.advanceBy(1_000);
    told.length = 0;

    const stopped = actor.stop();
    await clock.advanceBy(5_000);
    await stopped;

    expect(told).toEqual(["w-1 lost stopped"]);
  });

  it("reports an earlier generation as replaced and drops what still comes from it", async () => {
    const { clock, told, start, watch } = world();
    start("w-1");
    await clock.advanceBy(1_000);
    told.length = 0;

    const second = start("w-1");
    await clock.advanceBy(2_000);

    expect(told[0]).toBe("w-1 lost replaced");
    expect(told.filter((line) => line.includes("lost"))).toHaveLength(1);
    expect(watch.isAlive("w-1", second.generation)).toBe(true);
  });

  it.each([
    ["is killed", (later: RunningActor) => later.kill(), "silent"],
    ["says goodbye", (later: RunningActor) => later.stop(), "stopped"],
  ])("hears an earlier start again once the later one %s", async (_what, end, why) => {
    const { clock, told, start, watch } = world();
    const first = start("w-1");
    await clock.advanceBy(1_000);
    const second = start("w-1");
    await clock.advanceBy(1_000);
    told.length = 0;

    const ended = end(second);
    await clock.advanceBy(3_000);
    await ended;

    expect(told).toEqual([`w-1 lost ${why}`, "w-1 ready"]);
    expect(watch.isAlive("w-1", first.generation)).toBe(true);
  });

  it("declares nobody lost while its own bus is gone nor within two leases after", async () => {
    const { clock, network, told, start, since } = world();
    start("w-1");
    start("w-2");
    await clock.advanceBy(2_000);
    told.length = 0;

    network.disconnect(actorId("watcher"));
    network.kill(actorId("w-2"));
    await clock.advanceBy(10_000);
    expect(told).toEqual([]);
    network.reconnect(actorId("watcher"));
    const ms = await since(() => told.length > 0);
    await clock.advanceBy(2_000);

    expect(told).toEqual(["w-2 lost silent"]);
    expect(ms).toBeGreaterThanOrEqual(2_200);
    expect(ms).toBeLessThan(2_350);
  });

  it("blames nobody for a time in which the bus does not answer, nor within one lease after", async () => {
    let answer: () => void = () => undefined;
    const { clock, network, told, start } = world(
      () => new Promise((resolve) => (answer = resolve)),
    );
    start("w-1");
    start("w-2");
    await clock.advanceBy(2_000);
    told.length = 0;

    network.pause(actorId("w-1"));
    network.pause(actorId("w-2"));
    await clock.advanceBy(5_000);
    expect(told).toEqual([]);
    answer();
    network.resume(actorId("w-2"));
    await clock.advanceBy(1_000);
    expect(told).toEqual([]);
    await clock.advanceBy(500);

    expect(told).toEqual(["w-1 lost silent"]);
  });

  it("blames nobody for a time in which it stood still itself", async () => {
    const { clock, network, told, start } = world();
    start("w-1");
    await clock.advanceBy(2_000);
    told.length = 0;

    network.pause(actorId("watcher"));
    await clock.advanceBy(20_000);
    network.resume(actorId("watcher"));
    await clock.advanceBy(5_000);

    expect(told).toEqual([]);
  });

  it("asks after a peer though it stood still itself just before: nobody there is an answer", async () => {
    const { clock, network, told, start } = world();
    start("w-1");
    await clock.advanceBy(2_000);
    told.length = 0;

    network.pause(actorId("watcher"));
    network.kill(actorId("w-1"));
    await clock.advanceBy(3_000);
    network.resume(actorId("watcher"));
    await clock.advanceBy(800);

    expect(told).toEqual(["w-1 lost no_responders"]);
  });

  it("leaves no timer, subscription or awaited reply behind", async () => {
    const { clock, network, watch, told, bus } = world();

    watch.stop();
    await bus.close();
    network.stopServer();

    expect(clock.pendingTimers).toBe(0);
    expect(told).toEqual([]);
  });
});
