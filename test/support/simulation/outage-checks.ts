import type { ErrorCode } from "@baton/protocol";
import { type SimulationPlan, servesAgainMs } from "./plan.ts";
import { describeEnd, mayFailInCalm } from "./request-end.ts";
import type { SimClient } from "./sim-client.ts";
import { busGraceMs, routerNoticeMs } from "./sim-cluster.ts";

/** A sweep of the Frontend's deadlines, and a turn. */
const sweepMs = 300;
/** What says that somebody is gone: nobody is, while only the bus was. */
const lossCodes: ReadonlySet<ErrorCode> = new Set(["worker_lost", "router_lost", "engine_lost"]);

/** The trouble of a run, when it is over. */
export interface TroubleReport {
  readonly plan: SimulationPlan;
  /** Epoch ms. */
  readonly startMs: number;
  readonly clients: ReadonlyMap<
    string,
    Pick<SimClient, "end" | "endedAtMs" | "requestId" | "submittedAtMs">
  >;
}

/**
 * Where nothing but the bus was gone, nobody is declared lost, nobody waits for it beyond the limit, or for the answer that it
 * has cost beyond what a router is given from its return on, and who comes two seconds after it is back is served.
 */
export function checkOutage(
  { clients, plan, startMs }: TroubleReport,
  report: (problem: string) => void,
): void {
  if (plan.temper !== "outage") return;
  for (const { end, endedAtMs, requestId, submittedAtMs } of clients.values()) {
    if (end?.kind !== "failed" || endedAtMs === null || submittedAtMs === null) continue;
    if (lossCodes.has(end.error.code)) {
      report(`${requestId} fails with ${end.error.code} where only the bus was gone`);
    }
    for (const fault of plan.faults) {
      if (fault.kind !== "server-stop") continue;
      const backForMs = Math.round(submittedAtMs - startMs - fault.atMs - fault.forMs);
      if (backForMs >= servesAgainMs && !mayFailInCalm(plan, end.error.code)) {
        report(
          `${requestId} is not served ${backForMs} ms after the bus is back: ${describeEnd(end)}`,
        );
      }
      if (end.error.code !== "bus_unavailable") continue;
      const sinceMs = Math.max(startMs + fault.atMs, submittedAtMs);
      const limitMs = sinceMs + busGraceMs;
      const backAtMs = startMs + fault.atMs + fault.forMs;
      // A router whose ask got lost is missed only once the bus is back.
      const missedAtMs = backAtMs < limitMs ? backAtMs + routerNoticeMs : 0;
      if (endedAtMs > Math.max(limitMs, missedAtMs) + sweepMs) {
        report(`${requestId} waits ${Math.round(endedAtMs - sinceMs)} ms for the bus`);
      }
    }
  }
}
