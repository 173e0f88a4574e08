import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { describeWith, readStatus, waitUntil } from "../support/processes/index.ts";

const nats = fileURLToPath(new URL("../../infra/nats/", import.meta.url));

describeWith(["nats", "openssl"], "the ways of infra/README.md to run NATS", () => {
  const folder = mkdtempSync(join(tmpdir(), "baton-infra-"));
  let server: ChildProcess | undefined;

  beforeAll(() => {
    execFileSync(join(nats, "make-passwords.sh"), [folder]);
    execFileSync(join(nats, "make-certificates.sh"), [folder, "localhost", "127.0.0.1"], {
      stdio: "ignore",
    });
  });
  afterEach(() => server?.kill("SIGKILL"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts a server with passwords as `nats.env` has them. Resolves with its port. */
  async function start(file: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
    const lines = readFileSync(join(folder, "nats.env"), "utf8").trim().split("\n");
    const passwords = Object.fromEntries(lines.map((line) => line.split("=")));
    const child = spawn("nats-server", ["-c", join(nats, file), "-a", "127.0.0.1", "-p", "-1"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH, ...passwords, ...more },
    });
    server = child;
    let log = "";
    child.stderr.on("data", (bytes: Buffer) => {
      log += bytes.toString();
    });
    return await waitUntil("the server's port", () => {
      if (child.exitCode !== null) throw new Error(log);
      return /client connections on \S*:(\d+)/.exec(log)?.[1];
    });
  }

  const login = ["--nats-creds", join(folder, "watcher.json")];

  it("let in a user whose password was made for it", async () => {
    const port = await start("nats.conf");

    const status = await readStatus("--nats", `nats://127.0.0.1:${port}`, ...login);

    expect(status).toEqual({ actors: [], models: [] });
  });

  it("speak TLS with certificates that were made for it", async () => {
    const port = await start("nats-tls.conf", {
      BATON_NATS_SERVER_CERT: join(folder, "server.pem"),
      BATON_NATS_SERVER_KEY: join(folder, "server-key.pem"),
    });
    const where = ["--nats", `tls://127.0.0.1:${port}`, ...login];

    const status = await readStatus(...where, "--nats-ca", join(folder, "ca.pem"));

    expect(status).toEqual({ actors: [], models: [] });
    await expect(readStatus(...where)).rejects.toThrow(/certificate is not trusted/);
  });

  it("keep passwords and authority that are there already", () => {
    const read = () =>
      ["nats.env", "worker.json", "ca.pem"].map((name) => readFileSync(join(folder, name), "utf8"));
    const before = read();

    execFileSync(join(nats, "make-passwords.sh"), [folder]);
    execFileSync(join(nats, "make-certificates.sh"), [folder], { stdio: "ignore" });

    expect(read()).toEqual(before);
  });
});
