import type { ActorHeartbeat, ActorId } from "@baton/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { type AdminServer, maxPostBytes, startAdminServer } from "../src/admin-server.ts";
import type { LifecycleState } from "../src/lifecycle-machine.ts";
import type { RunningActor } from "../src/running-actor.ts";

const servers: AdminServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function admin(more: Partial<Parameters<typeof startAdminServer>[0]> = {}) {
  const server = await startAdminServer({
    host: "127.0.0.1",
    port: 0,
    metrics: async () => "baton_x 1\n",
    ...more,
  });
  servers.push(server);
  return server;
}

function actor(id: string, state: LifecycleState, why: string | null): RunningActor {
  const beat: Partial<ActorHeartbeat> = {
    id,
    role: "worker",
    namespace: "default",
    model: "m",
    generation: 7,
    state,
    why,
    pid: 1,
    host: "h",
    admin: null,
    workerType: "decode",
    set: null,
  };
  const running: Partial<RunningActor> = {
    id: id as ActorId,
    role: "worker",
    state,
    why,
    heartbeat: () => beat as ActorHeartbeat,
  };
  return running as RunningActor;
}

describe("startAdminServer", () => {
  it("is alive as soon as it listens, and not ready before an actor is", async () => {
    const server = await admin();

    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    const ready = await fetch(`${server.url}/readyz`);

    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ ready: false, why: "no actor has started", actors: [] });
  });

  it("is ready when all its actors are, and says who is not", async () => {
    const server = await admin();
    const waiting = actor("w-2", "syncing", "waits for the catalog");
    server.add(actor("w-1", "ready", null));
    server.add(waiting);

    const before = await fetch(`${server.url}/readyz`);
    server.remove(waiting);
    const after = await fetch(`${server.url}/readyz`);

    expect(before.status).toBe(503);
    expect(await before.json()).toMatchObject({ why: "worker w-2: waits for the catalog" });
    expect(after.status).toBe(200);
    expect(await after.json()).toMatchObject({
      ready: true,
      why: null,
      actors: [{ id: "w-1", role: "worker", state: "ready" }],
    });
  });

  it("serves the metrics and the status of its actors", async () => {
    const server = await admin({ status: async () => ({ models: [] }) });
    server.add(actor("w-1", "ready", null));

    const metrics = await fetch(`${server.url}/metrics`);
    const status = await fetch(`${server.url}/status`);

    expect(metrics.headers.get("content-type")).toContain("text/plain");
    expect(await metrics.text()).toBe("baton_x 1\n");
    expect(await status.json()).toEqual({
      actors: [
        {
          id: "w-1",
          role: "worker",
          state: "ready",
          why: null,
          pid: 1,
          host: "h",
          admin: null,
          namespace: "default",
          model: "m",
          worker_type: "decode",
          generation: 7,
        },
      ],
      models: [],
    });
  });

  it("answers what it does not serve with 404, other methods with 405, and failures with 500", async () => {
    const server = await admin({ metrics: () => Promise.reject(new Error("no figures")) });

    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
    expect((await fetch(`${server.url}/livez`, { method: "POST" })).status).toBe(405);
    const failed = await fetch(`${server.url}/metrics`);

    expect(failed.status).toBe(500);
    expect(await failed.json()).toEqual({ error: "no figures", code: "internal" });
  });

  it("serves a path that was added", async () => {
    const server = await admin();
    server.handle("/echo", (url, response) => {
      response.end(url.searchParams.get("say"));
    });

    expect(await (await fetch(`${server.url}/echo?say=hello`)).text()).toBe("hello");
  });

  it("serves a path that takes bodies, by POST alone and up to a limit", async () => {
    const server = await admin();
    server.handlePost("/echo", (body, response) => {
      response.end(body);
    });
    const post = (body: string | Uint8Array<ArrayBuffer>) =>
      fetch(`${server.url}/echo`, { method: "POST", body });

    expect(await (await post("hello")).text()).toBe("hello");
    expect((await post(new Uint8Array(maxPostBytes + 1))).status).toBe(413);
    const got = await fetch(`${server.url}/echo`);
    expect(got.status).toBe(405);
    expect(await got.json()).toEqual({ error: "only POST is served here" });
  });

  it("names the option when the port is taken", async () => {
    const server = await admin();

    await expect(admin({ port: server.port })).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(`--admin-port: cannot listen on 127.0.0.1:${server.port}`),
    });
  });
});
