import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { actorRoles } from "@baton/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  BatonProcess,
  describeWith,
  post,
  runBaton,
  waitUntil,
} from "../support/processes/index.ts";

const config = fileURLToPath(new URL("../../infra/nats/nats.conf", import.meta.url));
const users = [...actorRoles, "watcher"];

describeWith(["nats"], "the permissions of infra/nats", () => {
  const folder = mkdtempSync(join(tmpdir(), "baton-permissions-"));
  const processes: BatonProcess[] = [];
  const log: string[] = [];
  let server: ChildProcess;
  let url = "";

  /** The credentials file of a user. */
  const credentials = (user: string): string => join(folder, `${user}.json`);

  function start(role: string, ...flags: readonly string[]): void {
    processes.push(
      new BatonProcess([
        ...[role, "--nats", url, "--nats-creds", credentials(role), "--log-level", "warn"],
        ...flags,
      ]),
    );
  }

  beforeAll(async () => {
    const passwords: Record<string, string> = {};
    for (const user of users) {
      const password = `secret-of-${user}`;
      writeFileSync(credentials(user), JSON.stringify({ user, password }));
      passwords[`BATON_${user.replaceAll("-", "_").toUpperCase()}_PASSWORD`] = password;
    }
    server = spawn("nats-server", ["-c", config, "-a", "127.0.0.1", "-p", "-1"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH, ...passwords },
    });
    server.stderr?.on("data", (bytes: Buffer) => log.push(...bytes.toString().split("\n")));
    const port = await waitUntil("the server's port", () =>
      log
        .map((line) => /client connections on \S*:(\d+)/.exec(line)?.[1])
        .find((found) => found !== undefined),
    );
    url = `nats://127.0.0.1:${port}`;
    for (const role of ["discovery", "kv-event-aggregator", "prefill-router", "decode-router"])
      start(role);
    start("worker", "--worker-type", "prefill", "--model-name", "m");
    start("worker", "--worker-type", "decode", "--model-name", "m");
    start("frontend", "--port", "0");
  });

  afterAll(async () => {
    await Promise.all(processes.map((actor) => actor.end()));
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  it("let every actor do its work, and the watcher see it", async () => {
    const watcher = ["--nats", url, "--nats-creds", credentials("watcher"), "--json"];
    const api = await waitUntil(
      "the model to be ready",
      async () => {
        const { out } = await runBaton(["status", ...watcher]);
        const status = JSON.parse(out);
        return status.models[0]?.ready === true && status.actors.length === 7 && status;
      },
      { timeoutMs: 40_000 },
    );
    const frontend = api.actors.find(({ role }: { role: string }) => role === "frontend");

    const answer = await waitUntil("an answer", async () => {
      const given = await post(frontend.api, "completions", {
        model: "m",
        prompt: "Hello",
        max_tokens: 4,
      });
      return given.status === 200 && given;
    });

    expect(answer.body).toMatchObject({ usage: { completion_tokens: 4 } });
    expect(log.filter((line) => line.includes("Violation"))).toEqual([]);
  });

  it("refuse a user without password", async () => {
    const { code, err } = await runBaton(["status", "--nats", url]);

    expect(code).toBe(1);
    expect(err).toMatch(/bus_unavailable/);
  });
});
