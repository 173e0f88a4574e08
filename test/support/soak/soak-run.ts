import type { RequestTransition } from "@baton/protocol";
import { type NatsServer, SeededRandom, startNatsServer } from "@baton/runtime";
import {
  type ActorSpec,
  type Cluster,
  startCluster,
  waitUntil,
  workerSpec,
} from "../processes/index.ts";
import { EndLedger } from "./end-ledger.ts";
import type { Sample } from "./flatness.ts";
import { ProcessProbe } from "./process-probe.ts";
import { type ClientEnd, SoakClient } from "./soak-client.ts";
import { drawRequest, type RequestMix, type SoakRequest } from "./soak-request.ts";
import { countedEnds, freePort, heldGaugesOf, sampleActors } from "./soak-samples.ts";
import { WorkerKiller } from "./worker-killer.ts";

/** What a soak is. */
export interface SoakOptions {
  readonly seed: number;
  readonly requests: number;
  readonly inFlight: number;
  /** Workers of each type. */
  readonly workers: number;
  /** The share of requests whose client leaves. */
  readonly leavingShare: number;
  /** The share of requests that lose a worker. 0: none is killed. */
  readonly killedShare: number;
  /** How often every actor is asked what it holds; 0: never. */
  readonly samples: number;
  /** What is waited before, so that what is remembered for some seconds is forgotten, ms. */
  readonly restMs: number;
  readonly onProgress?: (line: string) => void;
}

/** What came of it. */
export interface SoakResult {
  /** Whatever may not be; empty if all is well. */
  readonly violations: readonly string[];
  /** How many requests have ended in which way for their clients. */
  readonly clientEnds: ReadonlyMap<string, number>;
  /** Workers that were killed. */
  readonly kills: number;
  /** Requests that failed for want of CPU: 0 where the machine does nothing else. */
  readonly starved: number;
  readonly seconds: number;
  readonly samplesById: ReadonlyMap<string, readonly Sample[]>;
}

const answerTimeoutMs = 30_000;
const idleTimeoutMs = 20_000;
const violationsKept = 20;
const refusals = new Set(["invalid_request", "model_not_found", "context_length_exceeded"]);
/** What a request may fail with when a worker of it is killed. */
const losses = new Set(["worker_lost", "kv_transfer_failed", "no_worker_available"]);
/**
 * What it may fail with besides when actors have no CPU for a second, so that others take them for lost: figures of the
 * machine.
 */
const starved = new Set(["worker_lost", "router_lost", "handoff_refused", "bus_unavailable"]);

/** A router that has no CPU for a second or two on a busy machine is not lost. */
const frontendFlags = { "router-notice-ms": 10_000 };

/** Runs requests against a cluster of processes that it starts and ends. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const probe = new ProcessProbe();
  const monitor = await freePort();
  let nats: NatsServer | null = null;
  try {
    nats = await startNatsServer({ lines: [`http: "127.0.0.1:${monitor}"`] });
    return await new Soak(options, nats, probe, monitor).run();
  } finally {
    await nats?.stop();
    probe.close();
  }
}

class Soak {
  readonly #options: SoakOptions;
  readonly #nats: NatsServer;
  readonly #probe: ProcessProbe;
  readonly #monitor: number;
  readonly #random: SeededRandom;
  readonly #ledger = new EndLedger();
  readonly #client = new SoakClient(answerTimeoutMs);
  readonly #violations: string[] = [];
  readonly #samplesById = new Map<string, Sample[]>();
  #ended = 0;
  #lost = 0;
  #starved = 0;
  #next = 0;

  constructor(options: SoakOptions, nats: NatsServer, probe: ProcessProbe, monitor: number) {
    this.#options = options;
    this.#nats = nats;
    this.#probe = probe;
    this.#monitor = monitor;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<SoakResult> {
    const { killedShare } = this.#options;
    const startedAtMs = performance.now();
    const cluster = await this.#startCluster();
    try {
      const killers = killedShare > 0 ? this.#killers(cluster) : [];
      for (const killer of killers) killer.start();
      await this.#sendAll(cluster);
      await Promise.all(killers.map((killer) => killer.stop()));
      await this.#rest(cluster);
      const violations = [
        ...this.#violations,
        ...(await heldGaugesOf(cluster)),
        ...this.#ledger.finish(await countedEnds(cluster)),
      ];
      return {
        violations,
        clientEnds: this.#ledger.clientEnds,
        kills: killers.reduce((sum, { kills }) => sum + kills, 0),
        starved: this.#starved,
        seconds: (performance.now() - startedAtMs) / 1_000,
        samplesById: this.#samplesById,
      };
    } finally {
      const printed = cluster.printed();
      if (printed !== "") this.#options.onProgress?.(printed);
      await cluster.stop();
    }
  }

  async #startCluster(): Promise<Cluster> {
    const isQuick = this.#options.killedShare === 0;
    const cluster = await startCluster({
      nats: this.#nats,
      env: this.#probe.env,
      prefill: 0,
      decode: 0,
      frontendFlags,
      also: [
        { role: "frontend", id: "frontend-2", flags: frontendFlags },
        { role: "prefill-router", id: "prefill-router-2" },
        { role: "decode-router", id: "decode-router-2" },
        ...workersOf("prefill", this.#options.workers, isQuick),
        ...workersOf("decode", this.#options.workers, isQuick),
      ],
      onTransition: (transition) => this.#heard(transition),
    });
    await cluster.untilServing("mock", "frontend-2");
    return cluster;
  }

  #heard(transition: RequestTransition): void {
    this.#ledger.heard(transition);
    const clientId = this.#ledger.clientOf(transition[0]);
    if (clientId !== null) this.#client.reached(clientId, transition[1]);
  }

  #killers(cluster: Cluster): readonly WorkerKiller[] {
    const { killedShare, workers } = this.#options;
    return (["prefill", "decode"] as const).map(
      (type) =>
        new WorkerKiller(cluster, {
          workers: workersOf(type, workers, false),
          wants: () => this.#lost < killedShare * this.#ended,
          random: this.#random.fork(`kills of ${type}`),
        }),
    );
  }

  /** In as many parts as there are samples, with nothing under way between them. */
  async #sendAll(cluster: Cluster): Promise<void> {
    const { inFlight, requests, samples } = this.#options;
    if (samples > 0) await this.#sample(cluster);
    const parts = Math.max(1, samples);
    for (let part = 1; part <= parts; part += 1) {
      const until = Math.round((requests * part) / parts);
      await Promise.all(Array.from({ length: inFlight }, () => this.#sendUntil(cluster, until)));
      if (samples > 0) await this.#sample(cluster);
      this.#options.onProgress?.(`${this.#ended} requests, ${this.#lost} lost a worker`);
    }
  }

  async #sendUntil(cluster: Cluster, until: number): Promise<void> {
    const { killedShare, leavingShare } = this.#options;
    const mix: RequestMix = {
      model: "mock",
      leavingShare,
      leaveWithinMs: killedShare > 0 ? 200 : 20,
    };
    while (this.#next < until) {
      const number = this.#next++;
      const request = drawRequest(number, mix, this.#random.fork(`request ${number}`));
      const api = cluster.apiOf(number % 2 === 0 ? "frontend" : "frontend-2");
      const end = await this.#client.send(api, request);
      this.#ended += 1;
      this.#ledger.told(request, end);
      this.#judge(request, end);
    }
  }

  #judge(request: SoakRequest, end: ClientEnd): void {
    const verdict = judge(request, end, this.#options.killedShare > 0);
    if (verdict === "fits") return;
    if (verdict === "lost") this.#lost += 1;
    else if (verdict === "starved") {
      this.#starved += 1;
      this.#options.onProgress?.(`starved: ${request.id} ${JSON.stringify(end)}`);
    } else if (this.#violations.length < violationsKept) {
      this.#violations.push(`${request.id} (${request.kind}) ${JSON.stringify(end)}`);
    }
  }

  async #sample(cluster: Cluster): Promise<void> {
    await this.#rest(cluster);
    this.#ledger.settle();
    const found = await sampleActors(cluster, this.#probe, this.#monitor, this.#next);
    const heaps = [...found].map(([id, { figures }]) => `${id} ${figures.heapUsed}`);
    this.#options.onProgress?.(`bytes of heap: ${heaps.join(", ")}`);
    for (const [id, sample] of found) {
      const known = this.#samplesById.get(id);
      if (known === undefined) this.#samplesById.set(id, [sample]);
      else known.push(sample);
    }
  }

  async #rest(cluster: Cluster): Promise<void> {
    this.#client.closeConnections();
    await waitUntil("nothing to be held", async () => (await heldGaugesOf(cluster)).length === 0, {
      timeoutMs: idleTimeoutMs,
      everyMs: 100,
    }).catch(() => undefined); // What is held still is told with all that may not be.
    await new Promise((resolve) => setTimeout(resolve, this.#options.restMs));
  }
}

/**
 * Whether an end is what this request may get: `lost` with a killed worker, `starved` for want of CPU, `wrong` if not at
 * all.
 */
export function judge(
  request: SoakRequest,
  end: ClientEnd,
  isKilling: boolean,
): "fits" | "lost" | "starved" | "wrong" {
  if (end.kind === "broken") return "wrong";
  const isBad = request.kind === "bad input";
  if (end.kind !== "failed") return isBad ? "wrong" : "fits";
  if (isBad) return refusals.has(end.code) ? "fits" : "wrong";
  if (isKilling && losses.has(end.code)) return "lost";
  return starved.has(end.code) ? "starved" : "wrong";
}

function workersOf(
  type: "prefill" | "decode",
  count: number,
  isQuick: boolean,
): readonly ActorSpec[] {
  const flags = {
    "block-size": 16,
    blocks: 2_048,
    "max-num-seqs": 24,
    "mock-prefill-ms": isQuick ? 0 : 12,
    "mock-decode-ms": isQuick ? 0 : 4,
    "transfer-gbps": isQuick ? 0 : 1,
  };
  return Array.from({ length: count }, (_, index) =>
    workerSpec(type, `${type}-${index}`, "mock", flags),
  );
}
