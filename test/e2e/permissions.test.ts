import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { subjectTable } from "@baton/protocol";
import { connect, Events, type NatsConnection, type NatsError } from "nats";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NatsLogins, type NatsUser, natsUsers } from "../support/containers/nats-users.ts";
import {
  BatonProcess,
  describeWith,
  post,
  runBaton,
  waitUntil,
} from "../support/processes/index.ts";

const config = fileURLToPath(new URL("../../infra/nats/nats.conf", import.meta.url));
const readme = fileURLToPath(new URL("../../infra/README.md", import.meta.url));
const roles = natsUsers.filter((user) => user !== "watcher");

/** One thing that a user may or may not do. */
interface Deed {
  readonly operation: "publish" | "subscribe";
  readonly subject: string;
}

/** Starts a server with the configuration of `infra/nats`. */
async function startServer(logins: NatsLogins, log: string[]) {
  const server = spawn("nats-server", ["-c", config, "-a", "127.0.0.1", "-p", "-1"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH, ...logins.environment },
  });
  server.stderr.on("data", (bytes: Buffer) => log.push(...bytes.toString().split("\n")));
  const port = await waitUntil("the server's port", () =>
    log
      .map((line) => /client connections on \S*:(\d+)/.exec(line)?.[1])
      .find((found) => found !== undefined),
  );
  return { server, url: `nats://127.0.0.1:${port}` };
}

describeWith(["nats"], "the permissions of infra/nats", () => {
  const logins = new NatsLogins();
  const processes: BatonProcess[] = [];
  const log: string[] = [];
  let server: ChildProcess;
  let url = "";

  function start(role: NatsUser, ...flags: readonly string[]): void {
    processes.push(
      new BatonProcess([
        ...[role, "--nats", url, "--nats-creds", logins.file(role), "--log-level", "warn"],
        ...flags,
      ]),
    );
  }

  beforeAll(async () => {
    ({ server, url } = await startServer(logins, log));
    for (const role of [
      "discovery",
      "kv-event-aggregator",
      "prefill-router",
      "decode-router",
    ] as const)
      start(role);
    start("worker", "--worker-type", "prefill", "--model-name", "m");
    start("worker", "--worker-type", "decode", "--model-name", "m");
    start("frontend", "--port", "0");
  });

  afterAll(async () => {
    await Promise.all(processes.map((actor) => actor.end()));
    server.kill("SIGKILL");
    logins.remove();
  });

  it("let every actor do its work, and the watcher see it", async () => {
    const watcher = ["--nats", url, "--nats-creds", logins.file("watcher"), "--json"];
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

describeWith(["nats"], "each user of infra/nats", () => {
  const logins = new NatsLogins();
  const log: string[] = [];
  let server: ChildProcess;
  let url = "";

  beforeAll(async () => {
    ({ server, url } = await startServer(logins, log));
  });
  afterAll(() => {
    server.kill("SIGKILL");
    logins.remove();
  });

  /** Subjects as actors use them, and some that nobody of ours does. */
  const ours = subjectTable.map(({ pattern }) => concrete(pattern));
  const answers = "baton.v1.ns._.inbox.actor-1.token";
  const parts = "baton.v1.ns._.inbox.actor-1.p.chunk";
  const foreign = ["_INBOX.any", "$SYS.REQ.SERVER.PING", "baton.v2.ns._.actor.ping", "else"];
  const wide = ["baton.v1.>", ">", "*.>"];
  const everything: readonly Deed[] = [
    ...[...ours, answers, parts, ...foreign].map((subject) => deed("publish", subject)),
    ...[...ours, answers, parts, ...foreign, ...wide].map((subject) => deed("subscribe", subject)),
  ];

  it.each(roles)("%s may do what the table of subjects says, and nothing else", async (role) => {
    const isParty = (parties: readonly string[]) =>
      parties.includes(role) || parties.includes("any");
    const expected = [
      ...subjectTable
        .filter(({ publishers }) => isParty(publishers))
        .map(({ pattern }) => deed("publish", concrete(pattern))),
      ...subjectTable
        .filter(({ subscribers }) => isParty(subscribers))
        .map(({ pattern }) => deed("subscribe", concrete(pattern))),
      ...[answers, parts].flatMap((one) => [deed("publish", one), deed("subscribe", one)]),
    ];

    expect(await allowed(role)).toEqual(sorted(expected));
  });

  it("watcher may do what the README of infra lists, and nothing else", async () => {
    const listed = listedForWatcher();
    const fits = ({ operation, subject }: Deed) =>
      listed.some((one) => one.operation === operation && covers(one.subject, subject));

    expect(await allowed("watcher")).toEqual(sorted(everything.filter(fits)));
    expect(listed.filter(({ operation }) => operation === "publish").length).toBeGreaterThan(2);
  });

  /** Tries everything as one user, and gives what the server let pass. */
  async function allowed(user: NatsUser): Promise<readonly string[]> {
    const { password } = JSON.parse(logins.text(user));
    const connection = await connect({ servers: url, user, pass: password });
    const refused = new Set<string>();
    void follow(connection, refused);
    const last = deed("publish", "nobody.may");
    for (const one of [...everything, last]) {
      const callback = (error: NatsError | null) => {
        if (error !== null) refused.add(text(one));
      };
      if (one.operation === "publish") connection.publish(one.subject);
      else connection.subscribe(one.subject, { callback });
    }
    // Refusals come in order.
    await waitUntil("the last refusal", () => refused.has(text(last)));
    await connection.close();
    return sorted(everything).filter((one) => !refused.has(one));
  }
});

async function follow(connection: NatsConnection, refused: Set<string>): Promise<void> {
  for await (const { type, permissionContext } of connection.status()) {
    if (type !== Events.Error || permissionContext === undefined) continue;
    const { operation, subject } = permissionContext;
    refused.add(`${operation} ${subject}`);
  }
}

/** The rows `| may publish | `subject` |` and `| may subscribe | …` of the README. */
function listedForWatcher(): readonly Deed[] {
  return [
    ...readFileSync(readme, "utf8").matchAll(/^\| may (publish|subscribe) \| `(\S+)` \|/gm),
  ].map(([, operation, subject = ""]) =>
    deed(operation as Deed["operation"], subject.replaceAll(/<\w+>/g, "*")),
  );
}

function deed(operation: Deed["operation"], subject: string): Deed {
  return { operation, subject };
}

function text({ operation, subject }: Deed): string {
  return `${operation} ${subject}`;
}

function sorted(deeds: readonly Deed[]): readonly string[] {
  return [...new Set(deeds.map(text))].sort();
}

function concrete(pattern: string): string {
  return pattern.replace("<ns>", "ns").replace("<model>", "m").replace("<id>", "actor-1");
}

/** Whether a subject with wildcards covers another, as NATS has it. */
function covers(wild: string, subject: string): boolean {
  const source = wild
    .split(".")
    .map((token) => (token === "*" ? "[^.]+" : token === ">" ? ".+" : token.replaceAll("$", "\\$")))
    .join("\\.");
  return new RegExp(`^${source}$`).test(subject);
}
