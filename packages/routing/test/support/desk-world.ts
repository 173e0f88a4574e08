import {
  Abort,
  actorId,
  CancelRoute,
  Decode,
  Generate,
  LegFailed,
  LoadReport,
  type RequestId,
  RouteDecode,
  requestId,
} from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import {
  loadReport,
  type MemoryCluster,
  memoryCluster,
  routeDecode,
  testGeneration,
} from "@baton/testing";
import type { DeskHost } from "../../src/desk-host.ts";
import type { LoadedPolicy } from "../../src/policy/load-policy.ts";
import type { PolicyFlags } from "../../src/policy/policy-options.ts";
import { loadedPolicy, model } from "./desk-rig.ts";
import { workerView } from "./fake-view.ts";
import { hostRig } from "./host-rig.ts";

const maxSequences = 2;
const noBytes = new Uint8Array();

/** The policies that a world's routers may have, the first at the start. */
export const worldPolicies: readonly LoadedPolicy[] = [
  { routerMode: "kv", sessionAffinityTtlSecs: 1, activePrefillTokensThreshold: 120 },
  {
    routerMode: "kv",
    sessionAffinityTtlSecs: 2,
    sessionAffinityMode: "soft",
    trackOutputBlocks: true,
  },
  { routerMode: "kv", useKvEvents: false, ttlSecs: 1 },
  { routerMode: "round-robin", sessionAffinityTtlSecs: 1 },
  { routerMode: "least-loaded" },
].map((flags) => loadedPolicy(flags as Partial<PolicyFlags>));

/** A worker that runs what it is sent until it is told to finish, and says so. */
class PlayedWorker {
  readonly id: string;
  readonly generation: number;
  readonly running = new Set<RequestId>();
  readonly #cluster: MemoryCluster;
  readonly #bus: Bus;
  readonly #aborted = new Set<RequestId>();
  readonly #prefilling = new Set<RequestId>();
  #refusals = 0;
  #sequence = 0;

  constructor(cluster: MemoryCluster, id: string, generation: number) {
    this.id = id;
    this.generation = generation;
    this.#cluster = cluster;
    this.#bus = cluster.bus(id);
    const { subjects } = cluster;
    for (const verb of ["generate", "decode"] as const) {
      this.#bus.subscribe(subjects.worker(verb, model, actorId(id)), ({ payload }) => {
        const command = verb === "decode" ? Decode.decode(payload) : Generate.decode(payload);
        this.#take(command.requestId);
      });
    }
    this.#bus.subscribe(subjects.abortAnywhere(model), ({ payload }) => {
      const ended = Abort.decode(payload).requestIds.filter((ended) => {
        this.#aborted.add(ended);
        this.#prefilling.delete(ended);
        return this.running.delete(ended);
      });
      if (ended.length > 0) this.#report(ended);
    });
  }

  /** The next request that comes is refused. */
  refuseNext(): void {
    this.#refusals += 1;
  }

  /** Has computed the prompts of all that it runs. `isHeard` false: the word of it is lost. */
  prefill(isHeard: boolean): void {
    const prefilledBookings = [...this.#prefilling];
    this.#prefilling.clear();
    if (isHeard && prefilledBookings.length > 0) this.#report([], { prefilledBookings });
  }

  /** Ends the oldest request. `isHeard` false: the word of it is lost. */
  finishOne(isHeard: boolean): void {
    const [oldest] = this.running;
    if (oldest === undefined) return;
    this.running.delete(oldest);
    this.#prefilling.delete(oldest);
    if (isHeard) this.#report([oldest]);
  }

  heartbeat(): void {
    const liveBookings = [...this.running];
    const liveStates = liveBookings.flatMap((id) => [0, 2, this.#prefilling.has(id) ? 128 : 0, 1]);
    this.#report([], { liveBookings, liveStates });
  }

  #take(id: RequestId): void {
    if (this.#aborted.has(id)) {
      this.#report([id]);
    } else if (this.#refusals > 0) {
      this.#refusals -= 1;
      this.#report([id], { refusedBookings: [id] });
    } else {
      this.running.add(id);
      this.#prefilling.add(id);
    }
  }

  #report(endedBookings: readonly RequestId[], more: Partial<LoadReport> = {}): void {
    this.#sequence += 1;
    const { generation } = this;
    const facts = { generation, sequence: this.#sequence, endedBookings, ...more };
    const subject = this.#cluster.subjects.loadReported(model, actorId(this.id));
    this.#bus.publish(subject, LoadReport.encode(loadReport(this.id, facts)));
  }
}

/** What became of one request, as the bus saw it. */
export interface Fate {
  readonly isCancelled: boolean;
  commands: number;
  /** Its command found nobody. */
  isBounced: boolean;
  /** Codes of the failures that its Frontend was told. */
  readonly failures: string[];
}

/** Routers, workers and one Frontend on a network with delays, played by hand. */
export class DeskWorld {
  readonly fates = new Map<RequestId, Fate>();
  readonly #cluster: MemoryCluster;
  readonly #routers: ReturnType<typeof hostRig>[];
  readonly #workers = new Map<string, PlayedWorker>();
  readonly #frontend: Bus;
  #generation = testGeneration;
  #asked = 0;

  constructor(seed: number, routers: number) {
    this.#cluster = memoryCluster({ seed, minDelayMs: 0, maxDelayMs: 8 });
    this.#frontend = this.#cluster.bus("f-1");
    this.#observe();
    this.#routers = Array.from({ length: routers }, (_, index) =>
      hostRig(this.#cluster, `d-${index + 1}`, {
        limits: { queueLimit: 4 },
        policy: { usesKvEvents: (workerType) => workerType === "decode" },
        ...(worldPolicies[0] === undefined ? {} : { loaded: worldPolicies[0] }),
      }),
    );
    for (const id of ["w-1", "w-2", "w-3"]) this.join(id);
  }

  /** What all routers hold: bookings, waiting requests, sessions, feeds beyond the one, and what counts as load. */
  get held(): readonly (readonly number[])[] {
    return this.#routers.map(({ host, feeds }) => [
      host.desk.booked,
      host.desk.queued,
      host.desk.sessions,
      Math.max(0, feeds.running - 1),
      loadOf(host),
    ]);
  }

  pass(ms: number): Promise<void> {
    return this.#cluster.clock.advanceBy(ms);
  }

  ask(changes: Partial<RouteDecode>): void {
    this.#asked += 1;
    const request = routeDecode(`r-${this.#asked}`, { timeoutMs: 3_000, ...changes });
    this.fates.set(request.requestId, {
      isCancelled: false,
      commands: 0,
      isBounced: false,
      failures: [],
    });
    const subject = this.#cluster.subjects.route("decode-router", model);
    this.#frontend.publish(subject, RouteDecode.encode(request));
  }

  /** The client of one of the requests leaves: its cancel and its abort go different ways. */
  cancel(index: number): void {
    const id = requestId(`r-${1 + (index % Math.max(1, this.#asked))}`);
    const fate = this.fates.get(id);
    if (fate === undefined) return;
    this.fates.set(id, { ...fate, isCancelled: true });
    const { subjects } = this.#cluster;
    const requestIds = [id];
    this.#frontend.publish(
      subjects.routeCancel("decode-router", model),
      CancelRoute.encode({ requestIds }),
    );
    const abort = Abort.encode({ requestIds, reason: "client_gone" });
    this.#frontend.publish(subjects.abortAnywhere(model), abort);
  }

  /** All routers read another policy. */
  reload(policy: number): void {
    const loaded = worldPolicies[policy];
    if (loaded === undefined) throw new Error(`no policy ${policy}`);
    for (const { host } of this.#routers) host.desk.setPolicy(loaded);
  }

  refuseNext(id: string): void {
    this.#workers.get(id)?.refuseNext();
  }

  prefill(id: string, isHeard: boolean): void {
    this.#workers.get(id)?.prefill(isHeard);
  }

  finish(id: string, isHeard: boolean): void {
    this.#workers.get(id)?.finishOne(isHeard);
  }

  heartbeat(): void {
    for (const worker of this.#workers.values()) worker.heartbeat();
  }

  /** A worker dies. Each router notices when it does. */
  kill(id: string): void {
    if (!this.#workers.delete(id)) return;
    this.#cluster.network.kill(actorId(id));
    this.#routers.forEach(({ host, view }, index) => {
      this.#cluster.clock.setTimer(40 * (index + 1), () => {
        const known = view.worker(actorId(id));
        if (known === undefined || known.state === "lost" || this.#lives(known)) return;
        host.desk.workerLost(view.lose(id));
      });
    });
  }

  /** A worker starts, perhaps again. */
  join(id: string): void {
    if (this.#workers.has(id)) return;
    this.#generation += 1;
    const generation = this.#generation;
    this.#workers.set(id, new PlayedWorker(this.#cluster, id, generation));
    const listed = workerView(id, { generation, capacity: { maxSequences } });
    for (const { host, view } of this.#routers) {
      const before = view.worker(listed.id);
      view.set(listed);
      if (before !== undefined && before.state !== "lost") host.desk.workerLost(before);
      host.desk.workersChanged();
    }
  }

  /** Lets all work end and all words arrive. */
  async settle(): Promise<void> {
    for (let round = 0; round < 40; round += 1) {
      for (const worker of this.#workers.values()) {
        while (worker.running.size > 0) worker.finishOne(true);
        worker.heartbeat();
      }
      await this.pass(250);
    }
  }

  #lives({ id, generation }: { readonly id: string; readonly generation: number }): boolean {
    return this.#workers.get(id)?.generation === generation;
  }

  #observe(): void {
    this.#cluster.network.observe(({ subject, payload, receivers }) => {
      const verb = subject.split(".")[5];
      if (verb === "generate" || verb === "decode") {
        const fate = this.#fate((verb === "decode" ? Decode : Generate).decode(payload));
        fate.commands += 1;
        fate.isBounced = receivers === 0;
      }
      if (verb !== "failed") return;
      const fact = LegFailed.decode(payload);
      this.#fate(fact).failures.push(fact.error.code);
    });
  }

  #fate({ requestId: id }: { readonly requestId: RequestId }): Fate {
    const fate = this.fates.get(id);
    if (fate === undefined) throw new Error(`nobody asked for ${id}`);
    return fate;
  }
}

/** All that a router counts as load, of all workers together. */
function loadOf({ desk }: DeskHost<RouteDecode>): number {
  const probe = routeDecode("probe", { blockHashes: noBytes, sequenceHashes: noBytes });
  const counted = ["active_prefill_tokens", "decode_blocks", "active_requests"];
  return desk
    .explain(probe)
    .candidates.flatMap(({ terms }) => counted.map((name) => terms[name] ?? 0))
    .reduce((sum, each) => sum + each, 0);
}
