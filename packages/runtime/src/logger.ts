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
  /** Where lines go; stderr without it, since stdout belongs to commands. */
  readonly destination?: DestinationStream;
}

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
    options.destination ?? pino.destination({ fd: 2, sync: true }),
  );
}

/** A logger that writes nothing, for tests and tools. */
export function silentLogger(): Logger {
  return pino({ level: "silent", enabled: false });
}
