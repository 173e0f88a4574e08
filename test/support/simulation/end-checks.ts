import { type RouteExplained, unpackKvEvents } from "@baton/protocol";
import type { BusWatch } from "./bus-watch.ts";
import { eachHash, hashesAfter } from "./kv-picture.ts";
import type { KvThief } from "./kv-thief.ts";
import type { SimCluster } from "./sim-cluster.ts";
import type { RankDump } from "./visitor.ts";

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

/** Every KV that a living worker has staged came to one end, and not to that of its lease if somebody could release it. */
export function checkHandoffs(
  cluster: SimCluster,
  mayExpire: boolean,
  report: (problem: string) => void,
): void {
  for (const { id, metrics, role } of cluster.living()) {
    if (role !== "worker") continue;
    const count = (outcome: string) =>
      metrics.sumCounters(new RegExp(`^baton_kv_handoffs_total\\{outcome=${outcome}\\}$`));
    const ended = count("pulled") + count("released") + count("expired");
    if (count("staged") !== ended) {
      report(`${id} staged ${count("staged")} handoffs, and ended ${ended}`);
    }
    if (!mayExpire && count("expired") > 0) report(`${id} let ${count("expired")} handoffs expire`);
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

/** Every pull with a ticket that gives no right to it was counted where it was refused. */
export function checkRefusals(
  cluster: SimCluster,
  thief: KvThief,
  report: (problem: string) => void,
): void {
  for (const [reason, refused] of thief.refused) {
    if (reason === "none") continue;
    const pattern = new RegExp(`^baton_kv_pulls_refused_total\\{reason=${reason}\\}$`);
    const counted = cluster.processes.reduce(
      (sum, { metrics }) => sum + metrics.sumCounters(pattern),
      0,
    );
    if (counted < refused) report(`${refused} pulls were refused (${reason}), ${counted} counted`);
  }
}

/** Handlers that threw: always a bug. */
export function checkHandlerErrors(cluster: SimCluster, report: (problem: string) => void): void {
  for (const { id, metrics } of cluster.processes) {
    const errors = metrics.sumCounters(/^baton_bus_handler_errors_total/);
    if (errors > 0) report(`${errors} handlers of ${id} threw`);
  }
}

/** Where the picture of the feed's followers, or a dump for a late one, is not what the engines hold. */
export function kvDifferences(
  cluster: SimCluster,
  watch: BusWatch,
  dumps: readonly RankDump[],
): string[] {
  const differences: string[] = [];
  for (const { actor, id, organs, role } of cluster.living()) {
    if (role !== "worker" || organs.engine === null) continue;
    const { generation } = actor.heartbeat();
    const held = hashesAfter(organs.engine.dumpKv(0));
    const seen = watch.picture.held(id, 0, generation);
    if (seen !== null && !isSame(seen, held)) {
      differences.push(`the feed knows ${seen.size} blocks of ${id}, which holds ${held.size}`);
    }
    const dump = dumps.find((entry) => entry.workerId === id && entry.generation === generation);
    const events = dump?.bodies.flatMap((body) => unpackKvEvents(body));
    const dumped = events === undefined ? null : hashesAfter(events);
    if (dumped === null || !isSame(dumped, held)) {
      const size = dumped === null ? "no" : String(dumped.size);
      differences.push(`the dump has ${size} blocks of ${id}, which holds ${held.size}`);
    }
  }
  return [...differences, ...creditedDead(cluster, watch)];
}

/** Where a router's index is not what the engines hold of a prompt, or speaks of a generation that is gone. */
export function indexDifferences(
  cluster: SimCluster,
  sequenceHashes: Uint8Array,
  routes: readonly RouteExplained[],
): string[] {
  const differences: string[] = [];
  for (const { candidates, mode, routerId } of routes) {
    for (const { generation, overlapBlocks, workerId } of candidates) {
      const worker = cluster.living().find(({ id }) => id === workerId);
      if (worker?.actor.heartbeat().generation !== generation || worker.organs.engine === null) {
        differences.push(`${routerId} offers ${workerId} ${generation}, which is gone`);
        continue;
      }
      const held = hashesAfter(worker.organs.engine.dumpKv(0));
      const wanted = cacheModes.has(mode) ? leadingHeld(held, sequenceHashes) : 0;
      if (overlapBlocks !== wanted) {
        differences.push(
          `${routerId} credits ${workerId} with ${overlapBlocks} blocks, it holds ${wanted}`,
        );
      }
    }
  }
  return differences;
}

/** Modes that look at what workers hold. */
const cacheModes: ReadonlySet<string> = new Set(["kv", "two-tier"]);

function leadingHeld(held: ReadonlySet<string>, sequenceHashes: Uint8Array): number {
  let blocks = 0;
  for (const hash of eachHash(sequenceHashes)) {
    if (!held.has(hash)) break;
    blocks += 1;
  }
  return blocks;
}

/** Generations of workers that are gone and that the feed has not declared gone. */
function creditedDead(cluster: SimCluster, watch: BusWatch): string[] {
  const isLiving = (workerId: string, generation: number) =>
    cluster
      .living()
      .some(({ actor, id }) => id === workerId && actor.heartbeat().generation === generation);
  return watch.picture
    .known()
    .filter(({ workerId, generation }) => !isLiving(workerId, generation))
    .map(({ workerId, generation }) => `the feed credits ${workerId} ${generation}, which is gone`);
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((hash) => other.has(hash));
}
