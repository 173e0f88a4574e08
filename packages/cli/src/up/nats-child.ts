import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { constants as osConstants } from "node:os";
import { delimiter, join } from "node:path";
import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";

/** A `nats-server` that this process started. It ends with this process, however that ends. */
export interface NatsChild {
  /** `nats://HOST:PORT`. */
  readonly url: string;
  /** Resolves with how it ended, if it does before it is stopped. */
  readonly ended: Promise<string>;
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
 * server, `$@` its options; the pipe is kept at 3, since a background job's own input is empty.
 */
const guard = [
  "exec 3<&0",
  '"$0" "$@" 3<&- & child=$!',
  "(cat <&3 >/dev/null; kill $child 2>/dev/null) & watcher=$!",
  "exec 3<&-",
  "wait $child; code=$?",
  "kill $watcher 2>/dev/null; exit $code",
].join("\n");

const startTimeoutMs = 10_000;

/** Starts a server on a free port of `host`. Throws `bus_unavailable` with what it printed if it does not come up. */
export async function startNatsChild(
  binary: string,
  host: string,
  clock: Clock,
): Promise<NatsChild> {
  const child = spawn("sh", ["-c", guard, binary, "-a", host, "-p", "-1"], {
    stdio: ["pipe", "ignore", "pipe"],
    // Its own group: a Ctrl-C of the terminal must not end the bus before the actors have drained.
    detached: true,
  });
  try {
    const port = await listeningPort(child, clock);
    let isStopping = false;
    const ended = new Promise<string>((resolve) => {
      child.once("exit", (code, signal) => {
        if (!isStopping) resolve(howEnded(code, signal));
      });
    });
    const stopChild = () => {
      isStopping = true;
      return stop(child);
    };
    return { url: `nats://${host}:${port}`, ended, stop: stopChild };
  } catch (error) {
    child.stdin?.end();
    throw error;
  }
}

/** Reads the server's log until it says where it listens and that it is ready. */
function listeningPort(child: ChildProcess, clock: Clock): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    let isReady = false;
    const fail = (what: string): void => {
      timer.cancel();
      reject(
        new ServingError("bus_unavailable", { problem: `nats-server ${what}: ${printed.trim()}` }),
      );
    };
    const timer = clock.setTimer(startTimeoutMs, () => fail("did not come up"));
    child.stderr?.setEncoding("utf8");
    child.stderr?.on("data", (text: string) => {
      // The pipe is read to the end, or the server would block on it.
      if (isReady) return;
      printed += text;
      const port = /client connections on \S*:(\d+)/.exec(printed)?.[1];
      if (port === undefined || !printed.includes("Server is ready")) return;
      isReady = true;
      timer.cancel();
      resolve(port);
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`ended with code ${code}`));
  });
}

/** The guard ends as its server did: with 128 and a signal's number if that was killed. */
function howEnded(code: number | null, signal: NodeJS.Signals | null): string {
  const number = (code ?? 0) - 128;
  const [name] = Object.entries(osConstants.signals).find(([, value]) => value === number) ?? [
    signal,
  ];
  return name === null ? `has ended with code ${code}` : `was ended by ${name}`;
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.stdin?.end();
  });
}
