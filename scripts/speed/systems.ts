import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BatonProcess, descendantsOf, waitUntil } from "../../test/support/processes/index.ts";

/** A server under load, with the processes whose CPU counts as its own. */
export interface MeasuredSystem {
  readonly url: string;
  readonly pids: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** What a system is started with. */
export interface SystemOptions {
  /** Tokenizer folder of `make-model.py`. */
  readonly model: string;
  /** `run-dynamo.sh`, if there is one. */
  readonly dynamo: string | null;
  /** Milliseconds a decode step takes. */
  readonly stepMs: number;
  readonly aggregated: boolean;
  readonly routerMode: string;
}

/** Every actor a process, by `baton up`. */
export async function startBaton(options: SystemOptions): Promise<MeasuredSystem> {
  const up = new BatonProcess([
    ...["up", "--processes", "--port", "0", "--admin-port", "0", "--log-level", "warn"],
    ...["--engine", "mock", "--model", options.model, "--model-name", "tiny"],
    ...["--router-mode", options.routerMode, ...(options.aggregated ? ["--aggregated", "1"] : [])],
    ...["--mock-prefill-ms", "0", "--mock-decode-ms", String(options.stepMs)],
  ]);
  const url = await waitUntil(
    "baton to be ready",
    () => up.out.map((line) => /^ready (\S+)/.exec(line)?.[1]).find((found) => found !== undefined),
    { timeoutMs: 60_000 },
  );
  const pids: Record<string, number> = { up: up.pid };
  for (const { pid, command } of descendantsOf(up.pid)) {
    const name = actorName(command);
    if (name !== null) pids[name] = pid;
  }
  const stop = async () => {
    up.kill("SIGTERM");
    await up.ended;
  };
  return { url, pids, stop };
}

/** Null for the shell that guards `nats-server`. */
function actorName(command: string): string | null {
  if (/^\S*nats-server /.test(command)) return "nats";
  const [, role, id] = /baton\.js (\S+) --id (\S+)/.exec(command) ?? [];
  return (role === "worker" ? id?.replace(/-.*$/, "") : role) ?? null;
}

/** Dynamo with its mocker, by the script of `../shared/peers`. */
export async function startDynamo(options: SystemOptions): Promise<MeasuredSystem> {
  const { dynamo } = options;
  if (dynamo === null) throw new Error("--dynamo is needed");
  const env = {
    ...process.env,
    MODE: options.aggregated ? "agg" : "disagg",
    ROUTER: options.routerMode,
    // The mocker's step is 5.74 ms divided by both.
    DECODE_SPEEDUP: options.stepMs === 0 ? "1" : String(5.74e-6 / options.stepMs),
  };
  const run = (command: string) =>
    execFileSync("bash", [dynamo, command], { env, encoding: "utf8" }).trim();
  run("start");
  const pids = Object.fromEntries(
    run("pids")
      .split(",")
      .map((pair) => [pair.split("=")[0], Number(pair.split("=")[1])]),
  );
  const stop = async () => {
    run("stop");
  };
  return { url: "http://127.0.0.1:18000", pids, stop };
}

/** One worker of nginx, in front of the bare server; only nginx counts. */
export async function startNginx({ stepMs }: SystemOptions): Promise<MeasuredSystem> {
  const folder = mkdtempSync(join(tmpdir(), "baton-nginx-"));
  const bare = await startBareServer(18_401, stepMs);
  writeFileSync(join(folder, "nginx.conf"), nginxConfiguration(folder, 18_400, 18_401));
  const nginx = spawn("nginx", ["-c", join(folder, "nginx.conf"), "-e", join(folder, "errors")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const worker = await waitUntil("nginx's worker", () => descendantsOf(nginx.pid ?? 0)[0]);
  const stop = async () => {
    await ended(nginx, "SIGTERM");
    await ended(bare, "SIGTERM");
    rmSync(folder, { recursive: true });
  };
  return { url: "http://127.0.0.1:18400", pids: { nginx: worker.pid }, stop };
}

/** The bare server alone: what the load generator sees of any server at best. */
export async function startBare({ stepMs }: SystemOptions): Promise<MeasuredSystem> {
  const bare = await startBareServer(18_402, stepMs);
  const stop = () => ended(bare, "SIGTERM");
  return { url: "http://127.0.0.1:18402", pids: { bare: bare.pid ?? 0 }, stop };
}

async function startBareServer(port: number, stepMs: number): Promise<ChildProcess> {
  const program = fileURLToPath(new URL("bare-server.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, String(port), String(stepMs)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("exit", () => reject(new Error("the bare server could not start")));
  });
  return child;
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill(signal);
  });
}

function nginxConfiguration(folder: string, port: number, upstream: number): string {
  return `daemon off; worker_processes 1; pid ${folder}/pid;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  upstream bare { server 127.0.0.1:${upstream}; keepalive 512; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://bare; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}
`;
}
