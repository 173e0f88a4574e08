import type { BusWatch } from "./bus-watch.ts";
import { applyEvent } from "./kv-picture.ts";
import type { SimCluster } from "./sim-cluster.ts";
import type { SimProcess } from "./sim-process.ts";

/** Figures that are zero when nothing runs. */
const heldGauges = [
  "baton_frontend_requests_in_flight",
  "baton_worker_sequences",
  "baton_worker_blocks_used",
  "baton_worker_handoffs_held",
  "baton_kv_transfer_bytes_held",
  "baton_bus_replies_awaited",
  "baton_router_bookings",
  "baton_router_queued",
] as const;

/** What living actors still hold. Empty when the cluster is at rest. */
export function whatIsHeld(cluster: SimCluster): string[] {
  const held: string[] = [];
  for (const { actor, id, metrics } of cluster.living()) {
    for (const gauge of heldGauges) {
      // A probe may be under way at any moment; who asks for something else still holds something.
      if (gauge === "baton_bus_replies_awaited" && actor.state !== "ready") continue;
      const value = metrics.readGauge(gauge) ?? 0;
      if (value !== 0) held.push(`${id} ${gauge} = ${value}`);
    }
  }
  return held;
}

/** Every KV that a living worker has staged came to one end. */
export function checkHandoffs(cluster: SimCluster, report: (problem: string) => void): void {
  for (const { id, metrics, role } of cluster.living()) {
    if (role !== "worker") continue;
    const count = (outcome: string) =>
      metrics.sumCounters(new RegExp(`^baton_kv_handoffs_total\\{outcome=${outcome}\\}$`));
    const ended = count("pulled") + count("released") + count("expired");
    if (count("staged") !== ended) {
      report(`${id} staged ${count("staged")} handoffs, and ended ${ended}`);
    }
  }
}

/** Nothing ran twice: no worker began more than was sent to it. */
export function checkStarted(
  cluster: SimCluster,
  watch: BusWatch,
  report: (problem: string) => void,
): void {
  const sum = (name: string) =>
    cluster.processes.reduce(
      (total, { metrics }) => total + metrics.sumCounters(new RegExp(`^${name}`)),
      0,
    );
  const prefills = sum("baton_worker_prefills_started_total");
  const decodes = sum("baton_worker_decodes_started_total");
  if (prefills > watch.prefillsSent) {
    report(`${prefills} prefills were started, ${watch.prefillsSent} were sent`);
  }
  if (decodes > watch.decodesSent) {
    report(`${decodes} decodes were started, ${watch.decodesSent} were sent`);
  }
}

/** Handlers that threw: always a bug. */
export function checkHandlerErrors(cluster: SimCluster, report: (problem: string) => void): void {
  for (const { id, metrics } of cluster.processes) {
    const errors = metrics.sumCounters(/^baton_bus_handler_errors_total/);
    if (errors > 0) report(`${errors} handlers of ${id} threw`);
  }
}

/** Where the feed's picture of a living worker's cache is not what its engine holds. */
export function feedDifferences(cluster: SimCluster, watch: BusWatch): string[] {
  const differences: string[] = [];
  const living = new Map<string, SimProcess>();
  for (const process of cluster.living()) living.set(process.id, process);
  for (const { actor, id, organs, role } of living.values()) {
    if (role !== "worker" || organs.engine === null || actor.state !== "ready") continue;
    const held = new Set<string>();
    for (const event of organs.engine.dumpKv(0)) applyEvent(held, event);
    const seen = watch.picture.held(id, 0, actor.heartbeat().generation);
    const missing = [...held].filter((hash) => !seen.has(hash)).length;
    const extra = [...seen].filter((hash) => !held.has(hash)).length;
    if (missing + extra > 0) {
      differences.push(`the feed lacks ${missing} blocks of ${id} and has ${extra} too many`);
    }
  }
  for (const { workerId, generation } of watch.picture.known()) {
    const actor = living.get(workerId)?.actor;
    if (actor === undefined || generation < actor.heartbeat().generation) {
      differences.push(`the feed still credits ${workerId} generation ${generation}`);
    }
  }
  return differences;
}
