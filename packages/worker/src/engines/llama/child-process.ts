/** Starts the engine's child and carries messages to and from it. Knows nothing of their meaning. */

import { type ChildProcess, fork } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ChildMessage, ParentMessage } from "./child-protocol.ts";

/** What a child tells whoever started it. */
export interface ChildEvents {
  onMessage(message: ChildMessage): void;
  /** The process has ended, for whatever reason. Called once, last. */
  onExit(why: string): void;
  /** A line that the child or its library wrote to stdout or stderr. */
  onLine(line: string): void;
}

/** A running child. */
export interface EngineChild {
  readonly pid: number | undefined;
  send(message: ParentMessage): void;
  /** Ends it at once, whatever it does. */
  kill(): void;
}

export type StartChild = (
  env: Readonly<Record<string, string | undefined>>,
  events: ChildEvents,
) => EngineChild;

/** Starts the real child: a Node process that loads llama.cpp. */
export const startEngineChild: StartChild = (env, events) => {
  const isSource = import.meta.url.endsWith(".ts");
  const entry = fileURLToPath(new URL(isSource ? "./child.ts" : "./child.js", import.meta.url));
  const child = fork(entry, [], {
    // One thread: samplers of one batch that run side by side have mixed up sequences.
    env: { ...env, NODE_OPTIONS: undefined, UV_THREADPOOL_SIZE: "1" },
    execArgv: isSource ? ["--import", sourceLoader()] : [],
    serialization: "advanced",
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  child.on("message", (message) => events.onMessage(message as ChildMessage));
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on("line", events.onLine);
  }
  reportExit(child, events);
  return {
    pid: child.pid,
    send: (message) => {
      // A child that is gone has told so by `onExit`, or is about to.
      if (child.connected) child.send(message, () => {});
    },
    kill: () => {
      child.kill("SIGKILL");
    },
  };
};

function reportExit(child: ChildProcess, events: ChildEvents): void {
  let isOver = false;
  const end = (why: string): void => {
    if (!isOver) events.onExit(why);
    isOver = true;
  };
  child.once("error", (error) => end(`the engine process failed: ${error.message}`));
  child.once("exit", (code, signal) => {
    end(`the engine process ended with ${signal ?? `code ${code}`}`);
  });
}

/** From sources, as tests run, the child needs a loader for TypeScript. */
function sourceLoader(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
}
