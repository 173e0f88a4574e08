import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { ServingError } from "@baton/protocol";
import { parseTrace } from "./parse-trace.ts";
import type { TraceRow } from "./trace-row.ts";

/** Reads a trace from a file, gzipped or plain, whatever its name. Throws `config_invalid` that says what is wrong with it. */
export function readTraceFile(path: string, traceBlockSize: number): TraceRow[] {
  return parseTrace(readText(path), traceBlockSize);
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return (isGzip ? gunzipSync(bytes) : bytes).toString("utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServingError("config_invalid", { problem: `cannot read ${path}: ${why}` }, { cause });
  }
}
