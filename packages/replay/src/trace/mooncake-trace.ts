import { traceFault } from "./trace-fault.ts";
import type { TraceRow } from "./trace-row.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Reads Mooncake's format: one JSON object a line, empty lines left out. Throws `config_invalid` that names line and field. */
export function parseMooncakeTrace(lines: readonly string[], traceBlockSize: number): TraceRow[] {
  const rows: TraceRow[] = [];
  const sessions = new Set<string>();
  for (const [index, text] of lines.entries()) {
    if (text.trim() === "") continue;
    const row = readRow(parseLine(text, index + 1), index + 1, traceBlockSize);
    const isLaterTurn = row.sessionId !== null && sessions.has(row.sessionId);
    if (row.stampMs === null && !isLaterTurn) {
      throw traceFault(row.line, "timestamp", "is missing, and no turn comes before this one");
    }
    if (row.sessionId !== null) sessions.add(row.sessionId);
    rows.push(row);
  }
  return rows;
}

function parseLine(text: string, line: number): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw traceFault(line, "text", "is not JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw traceFault(line, "text", "is not a JSON object");
}

function readRow(fields: Fields, line: number, traceBlockSize: number): TraceRow {
  const promptTokens = required(fields, line, ["input_length", "input_tokens"], 1);
  const outputTokens = required(fields, line, ["output_length", "output_tokens"], 1);
  return {
    line,
    stampMs: optional(fields, line, ["timestamp", "created_time"], isTime, "0 or more"),
    promptTokens,
    outputTokens,
    hashIds: readHashIds(fields.hash_ids, line, promptTokens, traceBlockSize),
    sessionId: readSessionId(fields.session_id, line),
    delayMs: optional(fields, line, ["delay", "delay_ms"], isTime, "0 or more"),
  };
}

function required(fields: Fields, line: number, names: readonly string[], least: number): number {
  const wanted = `a whole number of at least ${least}`;
  const isWanted = (value: number) => Number.isSafeInteger(value) && value >= least;
  const value = optional(fields, line, names, isWanted, wanted);
  if (value === null) throw traceFault(line, names.join(" or "), "is missing");
  return value;
}

function optional(
  fields: Fields,
  line: number,
  names: readonly string[],
  isWanted: (value: number) => boolean,
  wanted: string,
): number | null {
  for (const name of names) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    if (typeof value === "number" && isWanted(value)) return value;
    throw traceFault(line, name, `must be ${wanted}, not ${JSON.stringify(value)}`);
  }
  return null;
}

function isTime(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

function readHashIds(
  value: unknown,
  line: number,
  promptTokens: number,
  traceBlockSize: number,
): Float64Array | null {
  if (value === undefined || value === null) return null;
  const isId = (id: unknown) => typeof id === "number" && Number.isSafeInteger(id) && id >= 0;
  if (!Array.isArray(value) || !value.every(isId)) {
    throw traceFault(line, "hash_ids", "must be a list of whole numbers from 0");
  }
  const blocks = Math.ceil(promptTokens / traceBlockSize);
  if (value.length !== blocks) {
    const wanted = `${promptTokens} tokens in blocks of ${traceBlockSize} are ${blocks}`;
    throw traceFault(line, "hash_ids", `has ${value.length} ids, but ${wanted}`);
  }
  return Float64Array.from(value as number[]);
}

function readSessionId(value: unknown, line: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "number") return String(value);
  throw traceFault(line, "session_id", "must be text or a number");
}
