import { type DestinationStream, type Logger, pino } from "pino";
import type { Clock } from "./clock.ts";

/** Levels of `--log-level`. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
/** One of the log levels. */
export type LogLevel = (typeof logLevels)[number];

/** What a logger is made from. */
export interface LoggerOptions {
  readonly level: LogLevel;
  /** The actor's role and id, on every line. */
  readonly actor?: string;
  readonly id?: string;
  /** Gives the lines their time; the machine's own without it. */
  readonly clock?: Clock;
  /** Where lines go; `fd` without it. */
  readonly destination?: DestinationStream;
  /** Default: stderr, since stdout belongs to commands. */
  readonly fd?: number;
}

const standardError = 2;
/** Lines that wait while nothing can be written, in bytes. Further ones are dropped. */
const mostWaitingBytes = 1024 * 1024;

const secretNames = [
  "secret",
  "password",
  "authorization",
  "apiKey",
  "creds",
  "seed",
  "nkey",
  "jwt",
];
const redactPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** A pino logger that writes JSON lines. Fields with the names of secrets are written as `redacted`. */
export function createLogger(options: LoggerOptions): Logger {
  const clock = options.clock;
  const base: Record<string, string> = {};
  if (options.actor !== undefined) base.actor = options.actor;
  if (options.id !== undefined) base.id = options.id;
  return pino(
    {
      level: options.level,
      base,
      redact: { paths: redactPaths, censor: "redacted" },
      formatters: { level: (label) => ({ level: label }) },
      ...(clock === undefined ? {} : { timestamp: () => `,"time":${Math.floor(clock.nowMs())}` }),
    },
    options.destination ?? descriptor(options.fd ?? standardError),
  );
}

/** A full disk under the log ends nobody: what cannot be written waits until there is room. */
function descriptor(fd: number): DestinationStream {
  const lines = pino.destination({ fd, sync: true, maxLength: mostWaitingBytes });
  lines.on("error", () => undefined);
  return lines;
}

/** A logger that writes nothing, for tests and tools. */
export function silentLogger(): Logger {
  return pino({ level: "silent", enabled: false });
}
