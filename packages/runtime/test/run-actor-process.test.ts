import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { ServingError } from "@baton/protocol";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ActorDefinition, ActorInstance } from "../src/actor.ts";
import type { AdminServer } from "../src/admin-server.ts";
import { MemoryNetwork } from "../src/bus/memory-network.ts";
import { silentLogger } from "../src/logger.ts";
import { RealClock } from "../src/real-clock.ts";
import { type ProcessOptions, runActorProcess } from "../src/run-actor-process.ts";
import type { RunningActor } from "../src/running-actor.ts";
import { SystemRandom } from "../src/system-random.ts";

const common: ProcessOptions = {
  nats: "nats://127.0.0.1:1",
  namespace: "default",
  host: "127.0.0.1",
  adminPort: 0,
  logLevel: "silent",
};

function run(
  instance: Partial<ActorInstance> = {},
  changes: Partial<ProcessOptions> = {},
  log = silentLogger(),
) {
  const definition: ActorDefinition<null> = {
    role: "discovery",
    options: { name: "discovery", schema: z.null(), fields: [] },
    create: (context) => ({
      start: async () => context.setSynced(true),
      drain: async () => undefined,
      stop: async () => undefined,
      ...instance,
    }),
  };
  const clock = new RealClock();
  const network = new MemoryNetwork({ clock, random: new SystemRandom() });
  const signals = new EventEmitter();
  const parent = new PassThrough();
  let tellStarted: (started: readonly [RunningActor, AdminServer]) => void = () => undefined;
  const started = new Promise<readonly [RunningActor, AdminServer]>((resolve) => {
    tellStarted = resolve;
  });
  const code = runActorProcess({
    definition,
    config: null,
    common: { ...common, ...changes },
    connect: async (options) => network.connect(options),
    signals,
    parent,
    log,
    clock,
    onStarted: (actor, admin) => tellStarted([actor, admin]),
  });
  return { code, started, signals, parent };
}

describe("runActorProcess", () => {
  it("serves its admin port, drains on SIGTERM, and ends with 0", async () => {
    const { code, started, signals } = run({}, { id: "d-1" });
    const [actor, admin] = await started;
    await actor.whenState("ready");

    const ready = await fetch(`${admin.url}/readyz`);
    const metrics = await (await fetch(`${admin.url}/metrics`)).text();
    signals.emit("SIGTERM", "SIGTERM");

    expect(await code).toBe(0);
    expect(ready.status).toBe(200);
    expect(metrics).toContain('baton_bus_replies_awaited{actor="discovery",id="d-1"} 0');
    expect(metrics).toContain('process_cpu_seconds_total{process="discovery-d-1"}');
    expect(actor.state).toBe("stopped");
    expect(signals.eventNames()).toEqual([]);
    await expect(fetch(`${admin.url}/livez`)).rejects.toThrow();
  });

  it("ends at once with 130 on a second signal", async () => {
    const { code, started, signals } = run({ drain: () => new Promise(() => undefined) });
    const [actor] = await started;
    await actor.whenState("ready");

    signals.emit("SIGINT", "SIGINT");
    signals.emit("SIGINT", "SIGINT");

    expect(await code).toBe(130);
    await actor.kill();
  });

  it("ends with 1 when its actor fails", async () => {
    const { code } = run({ start: () => Promise.reject(new Error("no engine")) });

    expect(await code).toBe(1);
  });

  it("ends with 2 when an option turns out to be of no use, and logs it in plain words", async () => {
    const lines: string[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(line) });
    const unusable = new ServingError("config_invalid", { problem: "no such folder" });

    const { code } = run({ start: () => Promise.reject(unusable) }, {}, log);

    expect(await code).toBe(2);
    const line = lines.find((text) => text.includes("actor failed")) ?? "";
    expect(JSON.parse(line)).toMatchObject({ code: "config_invalid", problem: "no such folder" });
    expect(line).not.toContain("stack");
  });

  it("ends with 1 on an error that nobody caught", async () => {
    const { code, started, signals } = run();
    const [actor] = await started;

    signals.emit("uncaughtException", new Error("bug"));

    expect(await code).toBe(1);
    await actor.kill();
  });

  it("drains when its parent's pipe closes, if it shall", async () => {
    const { code, started, parent } = run({}, { exitWithParent: true });
    const [actor] = await started;
    await actor.whenState("ready");

    parent.end();

    expect(await code).toBe(0);
    expect(actor.state).toBe("stopped");
  });

  it("refuses a bad id or namespace before anything starts", async () => {
    await expect(run({}, { namespace: "" }).code).rejects.toMatchObject({ code: "config_invalid" });
    await expect(run({}, { id: "a.b" }).code).rejects.toMatchObject({ code: "config_invalid" });
  });
});
