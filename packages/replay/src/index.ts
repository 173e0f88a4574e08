export { type OwnRouting, type Replay, type ReplayDeps, type ReplayRun, replay } from "./replay.ts";
export type { ReplayOptions, ReplayPolicy } from "./replay-options.ts";
export { htmlReport } from "./report/html/html-report.ts";
export type { ReplayReport } from "./report/replay-report.ts";
export { summaryText } from "./report/summary-text.ts";
export { unlimitedBookings } from "./sim/create-stage-core.ts";
export { readTraceFile } from "./trace/read-trace-file.ts";
export type { TraceRow } from "./trace/trace-row.ts";
