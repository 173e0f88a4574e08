import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SeedRun } from "./run-seed.ts";

const childFile = fileURLToPath(new URL("./seed-child.ts", import.meta.url));

/** What became of one seed in a process of its own. */
export type PooledRun = SeedRun | { readonly seed: number; readonly problem: string };

/** Runs each seed once, in several processes, and tells of each when it is done. Rejects with what `onRun` throws. */
export async function runSeeds(
  seeds: Iterable<number>,
  processes: number,
  onRun: (run: PooledRun) => void,
): Promise<void> {
  const rest = seeds[Symbol.iterator]();
  await Promise.all(Array.from({ length: processes }, () => work(rest, onRun)));
}

/** One process after the other: who dies of a seed is replaced for the next one. */
async function work(rest: Iterator<number>, onRun: (run: PooledRun) => void): Promise<void> {
  let child: ChildProcess | null = null;
  try {
    for (let next = rest.next(); !next.done; next = rest.next()) {
      child ??= fork(childFile, [], { serialization: "advanced" });
      const run = await ask(child, next.value);
      if (child.exitCode !== null || child.signalCode !== null) child = null;
      onRun(run);
    }
  } finally {
    child?.disconnect();
  }
}

function ask(child: ChildProcess, seed: number): Promise<PooledRun> {
  return new Promise((resolve) => {
    const onExit = (code: number | null, signal: string | null) => {
      child.off("message", onMessage);
      resolve({ seed, problem: `its process ended with ${signal ?? code}` });
    };
    const onMessage = (run: unknown) => {
      child.off("exit", onExit);
      resolve(run as PooledRun);
    };
    child.once("exit", onExit);
    child.once("message", onMessage);
    child.send(seed);
  });
}
