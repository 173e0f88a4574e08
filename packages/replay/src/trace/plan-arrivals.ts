import type { TraceRow } from "./trace-row.ts";

/** When a row's request comes. */
export interface Arrival {
  /** Number of the request, from 0, in order of `atMs`. */
  readonly index: number;
  readonly row: TraceRow;
  /** Virtual time, ms from the first arrival; of a later turn the earliest that it could be by the trace. */
  readonly atMs: number;
  /** Index of the turn that must have ended before; null if the request comes at `atMs`. */
  readonly after: number | null;
  /** Time between the end of that turn and this arrival, ms. */
  readonly delayMs: number;
}

/** How a trace's own times become arrivals. */
export interface ArrivalOptions {
  /** Divides all times. */
  readonly speed: number;
  /** Only the first so many rows; null for all. They keep the times that they have in the whole trace. */
  readonly limit: number | null;
}

/** A row on its way to an arrival. */
interface Turn {
  readonly row: TraceRow;
  readonly before: Turn | null;
  readonly stampMs: number;
  spreadMs: number;
}

/**
 * Arrivals in order. Rows that share a stamp are spread evenly up to the next stamp, those of the last over the same time as
 * those before. The first turn of a session comes at its stamp; a later one after the end of the one before and its own
 * delay, which is the difference of their stamps if it has none.
 */
export function planArrivals(rows: readonly TraceRow[], options: ArrivalOptions): Arrival[] {
  const turns = linkTurns(rows);
  spreadStamps(turns);
  const kept = turns.slice(0, options.limit ?? turns.length);
  kept.sort((a, b) => a.spreadMs - b.spreadMs);
  const indexes = new Map(kept.map((turn, index) => [turn, index]));
  return kept.map((turn, index) => ({
    index,
    row: turn.row,
    atMs: turn.spreadMs / options.speed,
    after: turn.before === null ? null : (indexes.get(turn.before) ?? null),
    delayMs: delayOf(turn) / options.speed,
  }));
}

function linkTurns(rows: readonly TraceRow[]): Turn[] {
  const latest = new Map<string, Turn>();
  return rows.map((row) => {
    const before = row.sessionId === null ? null : (latest.get(row.sessionId) ?? null);
    const stampMs = row.stampMs ?? before?.stampMs ?? 0;
    const turn: Turn = { row, before, stampMs, spreadMs: stampMs };
    if (row.sessionId !== null) latest.set(row.sessionId, turn);
    return turn;
  });
}

function delayOf({ row, before, stampMs }: Turn): number {
  if (before === null) return 0;
  return row.delayMs ?? Math.max(0, stampMs - before.stampMs);
}

/** Gives each turn its time from the first stamp. */
function spreadStamps(turns: readonly Turn[]): void {
  const firsts = new Map<number, Turn[]>();
  for (const turn of turns) {
    if (turn.before !== null) continue;
    const bucket = firsts.get(turn.stampMs);
    if (bucket === undefined) firsts.set(turn.stampMs, [turn]);
    else bucket.push(turn);
  }
  const stamps = [...firsts.keys()].sort((a, b) => a - b);
  const originMs = stamps[0] ?? 0;
  for (const [at, stampMs] of stamps.entries()) {
    const bucket = firsts.get(stampMs) ?? [];
    const widthMs = bucketWidth(stamps, at);
    for (const [place, turn] of bucket.entries()) {
      turn.spreadMs = stampMs - originMs + (widthMs * place) / bucket.length;
    }
  }
  for (const turn of turns) {
    if (turn.before === null) continue;
    turn.spreadMs = Math.max(turn.stampMs - originMs, turn.before.spreadMs);
  }
}

/** Time to the next stamp; for the last, from the one before. 0 if there is only one. */
function bucketWidth(stamps: readonly number[], at: number): number {
  const stampMs = stamps[at] ?? 0;
  const next = stamps[at + 1];
  if (next !== undefined) return next - stampMs;
  return stampMs - (stamps[at - 1] ?? stampMs);
}
