import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RealClock } from "./real-clock.ts";

/** How a server is started. */
export interface NatsServerOptions {
  /** Default: any free one. */
  readonly port?: number;
  /** Largest payload in bytes, default 1 MiB. */
  readonly maxPayload?: number;
  /** Bytes that may wait for one client before the server cuts it off, default 64 MiB. */
  readonly maxPending?: number;
  /** Milliseconds that a write to one client may take before the server cuts it off, default 10,000. */
  readonly writeDeadlineMs?: number;
  /** Asks clients for this user and password. */
  readonly user?: { readonly name: string; readonly password: string };
  /** Further lines of its configuration. */
  readonly lines?: readonly string[];
}

/** A `nats-server` that we have started. */
export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** Ends it in order. The port stays its own. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Stops the process without ending it. */
  pause(): void;
  /** Lets a stopped process go on. */
  resume(): void;
  /** Ends it if it runs and starts it again on the same port. */
  restart(changes?: { readonly maxPayload?: number }): Promise<void>;
}

/** The command that gives a machine a `nats-server`. */
export const natsInstallCommand = "apt-get install nats-server";
const startTimeoutMs = 10_000;
const clock = new RealClock();

/** Whether there is a `nats-server` on the PATH. */
export function hasNatsServer(): boolean {
  return spawnSync("nats-server", ["--version"], { stdio: "ignore" }).status === 0;
}

/** Starts a `nats-server` of the PATH on a local port. Rejects if it does not listen in ten seconds. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), "baton-nats-"));
  const server = new LocalNats(folder, options);
  await server.start();
  return server;
}

class LocalNats implements NatsServer {
  port: number;
  readonly #folder: string;
  #options: NatsServerOptions;
  #child: ChildProcess | null = null;

  constructor(folder: string, options: NatsServerOptions) {
    this.#folder = folder;
    this.#options = options;
    this.port = options.port ?? -1;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const file = join(this.#folder, "nats.conf");
    writeFileSync(file, config(this.#options));
    const child = spawn("nats-server", ["-c", file, "-a", "127.0.0.1", "-p", String(this.port)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    process.once("exit", () => child.kill("SIGKILL"));
    this.port = await listeningPort(child);
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  async restart(changes: { readonly maxPayload?: number } = {}): Promise<void> {
    await this.#end("SIGKILL");
    this.#options = { ...this.#options, ...changes };
    await this.start();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    if (signal !== "SIGKILL") child.kill("SIGCONT");
    await ended;
  }
}

function config(options: NatsServerOptions): string {
  const lines = [...(options.lines ?? [])];
  if (options.maxPayload !== undefined) lines.push(`max_payload: ${options.maxPayload}`);
  if (options.maxPending !== undefined) lines.push(`max_pending: ${options.maxPending}`);
  if (options.writeDeadlineMs !== undefined) {
    lines.push(`write_deadline: "${options.writeDeadlineMs}ms"`);
  }
  if (options.user !== undefined) {
    const { name, password } = options.user;
    lines.push(
      `authorization { user: ${JSON.stringify(name)}, password: ${JSON.stringify(password)} }`,
    );
  }
  return `${lines.join("\n")}\n`;
}

/** Reads the server's log until it says where it listens and that it is ready. */
function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    let isDone = false;
    const timer = clock.setTimer(startTimeoutMs, () => end(new Error(`no nats-server: ${text}`)));
    const end = (outcome: number | Error) => {
      if (isDone) return;
      isDone = true;
      timer.cancel();
      if (typeof outcome === "number") resolve(outcome);
      else reject(outcome);
    };
    child.once("error", end);
    child.once("exit", () => end(new Error(`nats-server has ended: ${text}`)));
    child.stderr?.setEncoding("utf8");
    child.stderr?.on("data", (part: string) => {
      if (isDone) return;
      text += part;
      const port = /client connections on \S*:(\d+)/.exec(text)?.[1];
      if (port !== undefined && text.includes("Server is ready")) end(Number(port));
    });
  });
}
