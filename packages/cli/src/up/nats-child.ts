import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { ServingError } from "@baton/protocol";

/** A `nats-server` that this process started. It ends with this process, however that ends. */
export interface NatsChild {
  /** `nats://HOST:PORT`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** The `nats-server` on the PATH; null if there is none. */
export function findNatsServer(path: string): string | null {
  for (const folder of path.split(delimiter)) {
    if (folder === "") continue;
    const file = join(folder, "nats-server");
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder: the next one may have it.
    }
  }
  return null;
}

/**
 * Ends the server when the pipe to this process closes: a server of its own would outlive a killed parent. `$0` is the
 * server, `$@` its options.
 */
const guard = `"$0" "$@" & child=$!; trap 'kill $child' TERM INT; cat >/dev/null; kill $child 2>/dev/null; wait $child`;

const startTimeoutMs = 10_000;

/** Starts a server on a free port of `host`. Throws `bus_unavailable` with what it printed if it does not come up. */
export async function startNatsChild(binary: string, host: string): Promise<NatsChild> {
  const port = await freePort(host);
  const child = spawn("sh", ["-c", guard, binary, "-a", host, "-p", String(port)], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  try {
    await ready(child);
  } catch (error) {
    child.stdin?.end();
    throw error;
  }
  return { url: `nats://${host}:${port}`, stop: () => stop(child) };
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, host, () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const fail = (what: string): void => {
      clearTimeout(timer);
      reject(
        new ServingError("bus_unavailable", { problem: `nats-server ${what}: ${printed.trim()}` }),
      );
    };
    const timer = setTimeout(() => fail("did not come up"), startTimeoutMs);
    child.stderr?.setEncoding("utf8");
    child.stderr?.on("data", (text: string) => {
      if (printed.length < 10_000) printed += text;
      if (!printed.includes("Server is ready")) return;
      clearTimeout(timer);
      resolve();
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`ended with code ${code}`));
  });
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.stdin?.end();
  });
}
