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
import { PlacedRequests } from "./placed-requests.ts";
import { ProcessProbe } from "./process-probe.ts";
import { type ClientEnd, SoakClient } from "./soak-client.ts";
import { drawRequest, type RequestMix, type SoakRequest } from "./soak-request.ts";
import { countedEnds, freePort, heldGaugesOf, sampleActors } from "./soak-samples.ts";
import { WorkerKiller } from "./worker-killer.ts";

/** What a soak is. */
export interface SoakOptions {
  readonly seed: number;
  readonly requests: number;
  /** After that nothing more is sent, ms. Default: never. */
  readonly sendForMs?: number;
  readonly inFlight: number;
  /** Workers of each type. */
  readonly workers: number;
  /** The share of requests whose client leaves, at least if workers are killed. */
  readonly leavingShare: number;
  /** The least share of requests that lose a worker. 0: none is killed. */
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
  /** How many requests inside were cancelled, by the state that they were in. */
  readonly cancelledIn: ReadonlyMap<string, number>;
  /** Requests that failed because a worker of theirs was killed. */
  readonly lost: number;
  /** Workers that were killed. */
  readonly kills: number;
  /** Requests that failed for want of CPU: 0 where the machine does nothing else. */
  readonly starved: number;
  readonly seconds: number;
  readonly samplesById: ReadonlyMap<string, readonly Sample[]>;
}

const answerTimeoutMs = 30_000;
/** A dozen processes at once on a machine with other work. */
const readyTimeoutMs = 300_000;
const idleTimeoutMs = 20_000;
const violationsKept = 20;
const refusals = new Set(["invalid_request", "model_not_found", "context_length_exceeded"]);
/**
 * What a request may fail with when a worker of it is killed: `not_ready` if that is done before its fellow, which was
 * killed before, is known again.
 */
const losses = new Set(["worker_lost", "kv_transfer_failed", "no_worker_available", "not_ready"]);
/**
 * What it may fail with besides when actors have no CPU for a second, so that others take them for lost: figures of the
 * machine.
 */
const starved = new Set(["worker_lost", "router_lost", "handoff_refused", "bus_unavailable"]);

/** Some of whom leave for a state are told their end before they hear of it. */
const leavingTooLate = 1.15;
/** A worker is killed when the requests on it are this share of all that are in flight. */
const shareOnKilled = 1 / 16;
const aggregatedModel = "mock-aggregated";

/** A router that has no CPU for a second or two on a busy machine is not lost. */
const frontendFlags = { "router-notice-ms": 10_000 };

/** A share of so many draws, less what chance may take: three standard deviations. */
function leastOf(share: number, draws: number): number {
  return Math.max(0, Math.floor(share * draws - 3 * Math.sqrt(share * (1 - share) * draws)));
}

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
  readonly #placed = new PlacedRequests();
  readonly #client = new SoakClient(answerTimeoutMs);
  readonly #violations: string[] = [];
  readonly #samplesById = new Map<string, Sample[]>();
  #ended = 0;
  #lost = 0;
  #starved = 0;
  #next = 0;
  #sendUntilMs = Number.POSITIVE_INFINITY;
  #killers: readonly WorkerKiller[] = [];

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
      if (killedShare > 0) this.#killers = this.#createKillers(cluster);
      for (const killer of this.#killers) killer.start();
      await this.#sendAll(cluster);
      await Promise.all(this.#killers.map((killer) => killer.stop()));
      await this.#rest(cluster);
      const violations = [
        ...this.#violations,
        ...this.#shortfalls(),
        ...(await this.#held(cluster)),
        ...this.#ledger.finish(await countedEnds(cluster)),
      ];
      return {
        violations,
        clientEnds: this.#ledger.clientEnds,
        cancelledIn: this.#ledger.cancelledIn,
        lost: this.#lost,
        kills: this.#killers.reduce((sum, { kills }) => sum + kills, 0),
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
    const workers = workersOf(this.#options);
    const cluster = await startCluster({
      nats: this.#nats,
      env: this.#probe.env,
      readyTimeoutMs,
      prefill: 0,
      decode: 0,
      frontendFlags,
      also: [
        { role: "frontend", id: "frontend-2", flags: frontendFlags },
        { role: "prefill-router", id: "prefill-router-2" },
        { role: "decode-router", id: "decode-router-2" },
        ...workers.flat(),
      ],
      onTransition: (transition) => this.#heard(transition),
    });
    for (const model of modelsOf(workers)) await cluster.untilServing(model, "frontend-2");
    return cluster;
  }

  #heard(transition: RequestTransition): void {
    this.#ledger.heard(transition);
    this.#placed.heard(transition);
    const clientId = this.#ledger.clientOf(transition[0]);
    if (clientId !== null) this.#client.reached(clientId, transition[1]);
  }

  #createKillers(cluster: Cluster): readonly WorkerKiller[] {
    const { inFlight, killedShare } = this.#options;
    return workersOf(this.#options).map(
      (workers, index) =>
        new WorkerKiller(cluster, {
          workers,
          wants: () => this.#lost < killedShare * (this.#ended + inFlight),
          isBusy: (id) => this.#placed.on(id) >= Math.max(2, shareOnKilled * inFlight),
          random: this.#random.fork(`kills ${index}`),
          onKill: (id) =>
            this.#options.onProgress?.(
              `${this.#ended} requests, ${this.#lost} lost a worker: ${id} is killed with ${this.#placed.on(id)}`,
            ),
        }),
    );
  }

  /** In as many parts as there are samples, with nothing under way between them. */
  async #sendAll(cluster: Cluster): Promise<void> {
    const { inFlight, requests, samples, sendForMs } = this.#options;
    if (sendForMs !== undefined) this.#sendUntilMs = performance.now() + sendForMs;
    if (samples > 0) await this.#sample(cluster);
    const parts = Math.max(1, samples);
    for (let part = 1; part <= parts; part += 1) {
      const until = Math.round((requests * part) / parts);
      await Promise.all(Array.from({ length: inFlight }, () => this.#sendUntil(cluster, until)));
      if (samples > 0) await this.#sample(cluster);
      this.#options.onProgress?.(`${this.#ended} requests, ${this.#lost} lost a worker`);
      if (performance.now() >= this.#sendUntilMs) return;
    }
  }

  async #sendUntil(cluster: Cluster, until: number): Promise<void> {
    const { killedShare, leavingShare } = this.#options;
    const isKilling = killedShare > 0;
    const mix: RequestMix = {
      model: "mock",
      aggregatedModel: isKilling ? aggregatedModel : null,
      leavingShare: isKilling ? leavingShare * leavingTooLate : leavingShare,
      leaveWithinMs: isKilling ? 1_500 : 20,
    };
    for (;;) {
      await this.#untilKillersKeepUp();
      if (this.#next >= until || performance.now() >= this.#sendUntilMs) return;
      const number = this.#next++;
      const request = drawRequest(number, mix, this.#random.fork(`request ${number}`));
      const api = cluster.apiOf(number % 2 === 0 ? "frontend" : "frontend-2");
      const end = await this.#client.send(api, request);
      this.#ended += 1;
      this.#ledger.told(request, end);
      this.#judge(request, end);
    }
  }

  /** The start of a worker takes as long as the machine lets it: what is sent meanwhile could lose none. */
  async #untilKillersKeepUp(): Promise<void> {
    const isBehind = () => this.#lost < this.#options.killedShare * this.#ended;
    while (isBehind() && this.#killers.some(({ isRestarting }) => isRestarting)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
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

  /** What a run did not bring about, so that it shows less than it should. */
  /** What is held for good: what actors ask each other now and then is awaited for a moment. */
  async #held(cluster: Cluster): Promise<readonly string[]> {
    let held = await heldGaugesOf(cluster);
    for (let look = 0; look < 20 && held.length > 0; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      held = await heldGaugesOf(cluster);
    }
    return held;
  }

  #shortfalls(): readonly string[] {
    const { killedShare, leavingShare, requests } = this.#options;
    const left = this.#ledger.clientEnds.get("left") ?? 0;
    const leastLeft = killedShare > 0 ? leastOf(leavingShare, this.#ended) : 0;
    const leastLost = leastOf(killedShare, this.#ended);
    return [
      ...(this.#ended < requests ? [`only ${this.#ended} of ${requests} were sent`] : []),
      ...(left < leastLeft
        ? [`only ${left} were left by their clients, of at least ${leastLeft}`]
        : []),
      ...(this.#lost < leastLost
        ? [`only ${this.#lost} lost a worker, of at least ${leastLost}`]
        : []),
    ];
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

/** Workers of each kind. Of a model with both halves in one there are some only if workers are killed. */
function workersOf({ killedShare, workers }: SoakOptions): readonly (readonly ActorSpec[])[] {
  const isKilling = killedShare > 0;
  const flags = {
    "block-size": 16,
    blocks: 2_048,
    "max-num-seqs": 64,
    // Long enough for most requests in flight to be on a worker, and not in somebody's queue for CPU.
    "mock-prefill-ms": isKilling ? 300 : 0,
    "mock-decode-ms": isKilling ? 60 : 0,
    "transfer-gbps": isKilling ? 0.1 : 0,
  };
  const kinds = isKilling
    ? (["prefill", "decode", "aggregated"] as const)
    : (["prefill", "decode"] as const);
  return kinds.map((type) =>
    Array.from({ length: workers }, (_, index) =>
      workerSpec(type, `${type}-${index}`, type === "aggregated" ? aggregatedModel : "mock", flags),
    ),
  );
}

function modelsOf(workers: readonly (readonly ActorSpec[])[]): ReadonlySet<string> {
  return new Set(workers.flat().map(({ flags }) => String(flags?.["model-name"])));
}
