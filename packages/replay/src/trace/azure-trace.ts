import { traceFault } from "./trace-fault.ts";
import type { TraceRow } from "./trace-row.ts";

const stamp = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d(?:\.\d+)?)$/;
const msADay = 86_400_000;

/** Reads Azure's CSV: a wall clock time, prompt tokens, output tokens. Throws `config_invalid` that names line and field. */
export function parseAzureTrace(lines: readonly string[]): TraceRow[] {
  const rows: TraceRow[] = [];
  let originMs: number | null = null;
  for (const [index, text] of lines.entries()) {
    if (index === 0 || text.trim() === "") continue;
    const line = index + 1;
    const [time = "", prompt = "", output = ""] = text.trim().split(",");
    const atMs = readStamp(time, line);
    originMs ??= atMs;
    rows.push({
      line,
      // A trace's earliest row need not be its first.
      stampMs: Math.max(0, atMs - originMs),
      promptTokens: readCount(prompt, line, "ContextTokens"),
      outputTokens: readCount(output, line, "GeneratedTokens"),
      hashIds: null,
      sessionId: null,
      delayMs: null,
    });
  }
  return rows;
}

function readStamp(text: string, line: number): number {
  const found = stamp.exec(text);
  if (found === null) throw traceFault(line, "TIMESTAMP", `is not a time: ${JSON.stringify(text)}`);
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = found
    .slice(1)
    .map(Number);
  return daysSinceEpoch(year, month, day) * msADay + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** Days from 1970-01-01, by the Gregorian calendar; a year is taken to begin in March, so that its leap day is its last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const marchMonth = (month + 9) % 12;
  const leapDays =
    Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + Math.floor((marchMonth * 153 + 2) / 5) + day - 719_469;
}

function readCount(text: string, line: number, field: string): number {
  const count = Number(text);
  if (text !== "" && Number.isSafeInteger(count) && count >= 1) return count;
  throw traceFault(
    line,
    field,
    `must be a whole number of at least 1, not ${JSON.stringify(text)}`,
  );
}
