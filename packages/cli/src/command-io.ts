import type { Clock, Random } from "@baton/runtime";
import { RealClock, SystemRandom } from "@baton/runtime";

/** What a command may touch of its process. Tests give their own. */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether people watch standard error. Absent: nobody does. */
  readonly isTerminal?: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Ends the process with this code once everything is written. */
  exit(code: number): void;
  /** Calls `onSignal` for each SIGINT and SIGTERM, until the returned function is called. */
  onSignal(onSignal: (signal: string) => void): () => void;
}

/** The real process. */
export function processIo(): CommandIo {
  endWithReader(process.stdout, (code) => process.exit(code));
  // A full disk behind it, or a reader that has gone, is no reason to end what runs.
  process.stderr.on("error", () => undefined);
  return {
    // biome-ignore lint/style/noProcessEnv: the one place where a command reads its environment.
    env: process.env,
    clock: new RealClock(),
    random: new SystemRandom(),
    isTerminal: process.stderr.isTTY === true,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    exit: (code) => {
      process.exitCode = code;
      // Standard output may be a pipe that still has to take the last lines.
      process.stdout.write("", () => process.exit(code));
    },
    onSignal: (onSignal) => {
      const signals = ["SIGINT", "SIGTERM"] as const;
      for (const signal of signals) process.on(signal, onSignal);
      return () => {
        for (const signal of signals) process.off(signal, onSignal);
      };
    },
  };
}

/** Ends the process in peace once whoever read its output, such as `head`, has seen enough. */
export function endWithReader(
  output: Pick<NodeJS.WriteStream, "on">,
  exit: (code: number) => void,
): void {
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    exit(0);
  });
}
