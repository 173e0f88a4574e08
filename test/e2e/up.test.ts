import { startNatsServer } from "@baton/runtime";
import { afterEach, expect, it } from "vitest";
import {
  ApiStream,
  BatonProcess,
  descendantsOf,
  describeWith,
  isAlive,
  post,
  readStatus,
  runBaton,
  textOf,
  waitUntil,
  within,
} from "../support/processes/index.ts";

const readyPattern = /^ready /;
const fast = ["--engine", "mock", "--mock-prefill-ms", "2", "--mock-decode-ms", "1"];
const anyPorts = ["--port", "0", "--admin-port", "0", "--log-level", "warn"];

/** What the ready line says. */
interface Ready {
  readonly api: string;
  readonly fields: Readonly<Record<string, string>>;
}

function readReady(line: string): Ready {
  const [, api = "", ...pairs] = line.split(" ");
  return { api, fields: Object.fromEntries(pairs.map((pair) => pair.split("="))) };
}

const running: BatonProcess[] = [];

async function startUp(...args: readonly string[]): Promise<Ready & { readonly up: BatonProcess }> {
  const up = new BatonProcess(["up", ...fast, ...anyPorts, ...args]);
  running.push(up);
  return { up, ...readReady(await up.line(readyPattern, 40_000)) };
}

const ask = (api: string, more: Record<string, unknown> = {}) =>
  post(api, "chat/completions", {
    model: "mock",
    messages: [{ role: "user", content: "Who is up?" }],
    max_tokens: 8,
    baton: { include: ["route"] },
    ...more,
  });

/** Sends a signal and gives the exit code, once nothing of what was started lives. */
async function endBy(up: BatonProcess, ...signals: readonly NodeJS.Signals[]) {
  const children = descendantsOf(up.pid);
  for (const signal of signals) up.kill(signal);
  const { code } = await within(15_000, "the end of up", up.ended);
  await waitUntil("its children to be gone", () => !children.some(({ pid }) => isAlive(pid)));
  return { code, children };
}

describeWith(["nats"], "baton up", () => {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((up) => up.end()));
  });

  it("says once that it is ready, serves at once, and ends with code 0 and no process left", async () => {
    const { up, api, fields } = await startUp("--nats", "auto");

    const answer = await ask(api);

    expect(answer.body.baton?.mode).toBe("disaggregated");
    expect(fields).toEqual({
      model: "mock",
      engine: "mock",
      bus: expect.stringMatching(/^nats:\/\/127\.0\.0\.1:\d+$/),
      prefill: "1",
      decode: "1",
      aggregated: "0",
      admin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    });
    expect(up.out.filter((line) => line.startsWith("ready"))).toHaveLength(1);
    const { code, children } = await endBy(up, "SIGTERM");
    expect(code).toBe(0);
    expect(children.some(({ command }) => command.includes("nats-server"))).toBe(true);
  });

  it("is ready where its Frontend is: healthy, with the model's tokenizer loaded", async () => {
    const { api } = await startUp("--nats", "off");

    const [health, model, answer] = await Promise.all([
      fetch(`${api}/health`),
      fetch(`${api}/v1/models/mock/ready`),
      ask(api),
    ]);

    expect([health.status, model.status, answer.status]).toEqual([200, 200, 200]);
  });

  it("passes on what the Frontend takes of clients", async () => {
    const origin = "https://app.example";
    const { api } = await startUp("--nats", "off", "--cors-origins", origin, "--max-prompts", "1");

    const models = await fetch(`${api}/v1/models`, { headers: { origin } });
    const refused = await post(api, "completions", { model: "mock", prompt: ["a", "b"] });

    expect(models.headers.get("access-control-allow-origin")).toBe(origin);
    expect(refused.status).toBe(400);
  });

  it("runs without NATS in one process, with a name that needs encoding", async () => {
    const name = "my model=1";
    const { up, api, fields } = await startUp("--nats", "off", "--model-name", name);

    const answer = await ask(api, { model: name });

    expect(fields.model).toBe(encodeURIComponent(name));
    expect(fields.bus).toBe("in-process");
    expect(answer.body.model).toBe(name);
    expect(descendantsOf(up.pid)).toEqual([]);
    expect((await endBy(up, "SIGINT")).code).toBe(0);
  });

  it("shows status, metrics and every message at its admin port", async () => {
    const { up, api, fields } = await startUp("--nats", "off");
    const admin = fields.admin ?? "";
    const tail = new BatonProcess(["tail", "--admin", admin, "--json"]);
    running.push(tail);
    await tail.line(/heartbeat/);

    await ask(api);
    const heard = await waitUntil("the request on the bus", () => {
      const lines = tail.out.map((line) => JSON.parse(line) as Record<string, unknown>);
      const names = new Set(lines.map(({ name }) => name));
      const wanted = ["route-prefill", "prefill", "prefill-done", "route-decode", "token-frame"];
      return wanted.every((name) => names.has(name)) && lines;
    });
    const status = await readStatus("--admin", admin);
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    const shown = await runBaton(["status", "--admin", admin]);

    for (const line of heard) {
      expect(line).toEqual({
        at: expect.any(Number),
        subject: expect.stringMatching(/^baton\./),
        name: expect.any(String),
        version: expect.any(Number),
        message: expect.anything() as unknown,
      });
    }
    const done = heard.find(({ name }) => name === "prefill-done");
    expect(done?.message).toMatchObject({ handoff: { secret: "redacted" } });
    expect(status.models).toMatchObject([{ model: "mock", ready: true, activation: "active" }]);
    expect(status.actors.map(({ role }) => role).sort()).toEqual([
      "decode-router",
      "discovery",
      "frontend",
      "kv-event-aggregator",
      "prefill-router",
      "worker",
      "worker",
    ]);
    expect(new Set(status.actors.map(({ state }) => state))).toEqual(new Set(["ready"]));
    expect(metrics).toMatch(/baton_worker_sequences\{actor="worker",id="prefill-0-\w+"\} 0/);
    expect(shown.out).toContain("ready");
    expect((await fetch(`${admin}/readyz`)).status).toBe(200);
    expect((await fetch(`${admin}/livez`)).status).toBe(200);
    tail.kill("SIGTERM");
    expect((await within(5_000, "tail", tail.ended)).code).toBe(0);
    expect((await endBy(up, "SIGTERM")).code).toBe(0);
  });

  it("--processes: each actor a process, whose figures it gathers, and none is left", async () => {
    const { up, api, fields } = await startUp("--processes", "--decode", "2");

    const answer = await ask(api);
    const status = await readStatus("--admin", fields.admin ?? "");
    const metrics = await (await fetch(`${fields.admin}/metrics`)).text();

    expect(answer.body.baton?.mode).toBe("disaggregated");
    const pids = new Set(status.actors.map(({ pid }) => pid));
    expect(pids.size).toBe(8);
    expect(new Set(status.actors.map(({ admin }) => admin)).size).toBe(8);
    const children = descendantsOf(up.pid);
    for (const pid of pids) expect(children.map((child) => child.pid)).toContain(pid);
    expect(metrics.match(/^baton_worker_sequences\{/gm)).toHaveLength(3);
    expect(metrics).toMatch(/^baton_frontend_requests_total\{.*outcome="completed".*\} 1$/m);
    expect((await endBy(up, "SIGTERM")).code).toBe(0);
  });

  it("lets what runs finish after a SIGTERM, and ends at once after a second", async () => {
    const slow = ["--mock-decode-ms", "20"];
    const first = await startUp("--nats", "off", ...slow);
    const body = { model: "mock", prompt: "finish me", max_tokens: 40 };
    const stream = new ApiStream(first.api, "completions", body);
    await stream.begun();
    first.up.kill("SIGTERM");
    await stream.over();
    expect(stream.isDone).toBe(true);
    expect((await within(15_000, "the end of up", first.up.ended)).code).toBe(0);

    const second = await startUp("--processes", ...slow);
    const endless = new ApiStream(second.api, "completions", { ...body, max_tokens: 5_000 });
    await endless.begun();
    second.up.kill("SIGTERM");
    await waitUntil("it to say that it drains", () =>
      second.up.err.some((line) => line.includes("draining")),
    );
    const askedAtMs = performance.now();
    const { code } = await endBy(second.up, "SIGTERM");

    expect(performance.now() - askedAtMs).toBeLessThan(3_000);
    expect(code).not.toBe(0);
    await endless.over();
    expect(endless.isDone).toBe(false);
  });

  it("leaves no child when it is killed", async () => {
    const { up } = await startUp("--processes");
    const children = descendantsOf(up.pid);

    up.kill("SIGKILL");

    expect(children.length).toBeGreaterThan(7);
    await waitUntil("its children to be gone", () => !children.some(({ pid }) => isAlive(pid)));
  });

  it("shares a NATS and a namespace with another: more workers of the same sets", async () => {
    const nats = await startNatsServer();
    try {
      // By load: by cache these prompts, which begin alike, would all go where the first one went.
      const byLoad = ["--nats", nats.url, "--router-mode", "least-loaded"];
      const first = await startUp(...byLoad);
      const second = await startUp(...byLoad);

      const [model] = (await readStatus("--nats", nats.url)).models;
      const workers = new Set<string | null | undefined>();
      await waitUntil("both to serve each other's clients", async () => {
        for (const { api } of [first, second]) {
          const asked = Array.from({ length: 6 }, (_, index) =>
            ask(api, { messages: [{ role: "user", content: `${index}` }] }),
          );
          for (const answer of await Promise.all(asked)) {
            expect(textOf(answer)).not.toBe("");
            workers.add(answer.body.baton?.prefill_worker);
          }
        }
        return workers.size === 2;
      });
      expect(model).toMatchObject({ ready: true, activation: "active" });
      expect(model?.sets.map(({ worker_type, live }) => [worker_type, live]).sort()).toEqual([
        ["decode", 2],
        ["prefill", 2],
      ]);
      expect((await endBy(first.up, "SIGTERM")).code).toBe(0);
      expect((await ask(second.api)).status).toBe(200);
      expect((await endBy(second.up, "SIGTERM")).code).toBe(0);
    } finally {
      await nats.stop();
    }
  });

  it("names what is wrong with its options, with exit code 2", async () => {
    const wrong = [
      ["--nope", "up", "--nope"],
      ["--prefill", "up", "--engine", "mock", "--prefill", "many"],
      ["--nats", "up", "--engine", "mock", "--nats", "somewhere"],
      ["--processes", "up", "--engine", "mock", "--nats", "off", "--processes"],
      ["--worker-type", "worker", "--nats", "nats://127.0.0.1:1", "--worker-type", "both"],
      ["--nats", "frontend"],
    ] as const;

    const results = await Promise.all(wrong.map(([, ...args]) => runBaton(args)));

    for (const [index, { code, err, out }] of results.entries()) {
      expect([err, code, out]).toEqual([expect.stringContaining(wrong[index]?.[0] ?? ""), 2, ""]);
    }
  });
});
