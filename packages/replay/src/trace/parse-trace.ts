import { ServingError } from "@baton/protocol";
import { parseAzureTrace } from "./azure-trace.ts";
import { parseMooncakeTrace } from "./mooncake-trace.ts";
import type { TraceRow } from "./trace-row.ts";

const azureHeader = /^TIMESTAMP,ContextTokens,GeneratedTokens\s*$/;

/**
 * Reads a trace: Mooncake's JSON lines, or the CSV of Azure's inference traces, which has arrivals and lengths only. Throws
 * `config_invalid` that names the line and the field.
 */
export function parseTrace(text: string, traceBlockSize: number): TraceRow[] {
  const lines = text.split("\n");
  const first = lines[0] ?? "";
  const rows = azureHeader.test(first)
    ? parseAzureTrace(lines)
    : parseMooncakeTrace(lines, traceBlockSize);
  if (rows.length > 0) return rows;
  throw new ServingError("config_invalid", { problem: "the trace has no requests" });
}
