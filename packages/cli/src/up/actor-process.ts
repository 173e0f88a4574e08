import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PlannedActor } from "./plan.ts";

/** One actor in a process of its own. It ends when the pipe to this process closes. */
export interface ActorProcess {
  readonly actor: PlannedActor;
  readonly pid: number;
  /** Resolves with a sentence when the process has ended. */
  readonly ended: Promise<string>;
  /** Asks it to drain. */
  drain(): void;
  /** Ends it at once. */
  kill(): void;
}

const program = fileURLToPath(new URL("../../bin/baton.js", import.meta.url));

/** Starts one actor's process. Its log goes to this process's stderr. */
export function startActorProcess(
  actor: PlannedActor,
  common: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): ActorProcess {
  const args = [
    actor.role,
    "--id",
    actor.id,
    "--exit-with-parent",
    ...asArguments({ ...common, ...actor.flags }),
  ];
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["pipe", "ignore", "inherit"],
    env: { ...env },
  });
  return {
    actor,
    pid: child.pid ?? 0,
    ended: endOf(child),
    drain: () => child.kill("SIGTERM"),
    kill: () => child.kill("SIGKILL"),
  };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) =>
      resolve(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
    );
  });
}

/** Flags as a command line has them. */
export function asArguments(flags: PlannedActor["flags"]): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === false) return [];
    if (value === true) return [`--${name}`];
    return [value].flat().flatMap((one) => [`--${name}`, one]);
  });
}
