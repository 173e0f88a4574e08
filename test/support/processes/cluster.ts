import type { ActorRole, RequestTransition, WorkerType } from "@baton/protocol";
import { type NatsServer, type NatsServerOptions, startNatsServer } from "@baton/runtime";
import { BatonProcess, type ProcessEnd } from "./baton-process.ts";
import { BusWatch } from "./bus-watch.ts";
import { type Labels, samples, sumSamples } from "./metrics-page.ts";
import { type ModelStatus, readStatus, type Status } from "./read-status.ts";
import { waitUntil, within } from "./wait-until.ts";

/** Options of an actor by flag name without dashes. */
export type Flags = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** One actor that a test starts as a process. */
export interface ActorSpec {
  readonly role: ActorRole;
  readonly id: string;
  readonly flags?: Flags;
}

/** What a cluster is made of. */
export interface ClusterOptions {
  /** A server that somebody else stops; without it the cluster starts one. */
  readonly nats?: NatsServer;
  readonly natsOptions?: NatsServerOptions;
  readonly namespace?: string;
  /** The model of the counted workers, default `mock`. */
  readonly model?: string;
  /** Workers, default 1, 1 and 0. */
  readonly prefill?: number;
  readonly decode?: number;
  readonly aggregated?: number;
  readonly engine?: string;
  /** Options of each counted worker. */
  readonly flags?: Flags;
  /** Options of every Frontend. */
  readonly frontendFlags?: Flags;
  /** Further actors. */
  readonly also?: readonly ActorSpec[];
  /** Added to the environment of every actor. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long an actor may take until it is ready, default 40,000. */
  readonly readyTimeoutMs?: number;
  /** Takes the state changes of all requests; the cluster's watch then keeps none. */
  readonly onTransition?: (transition: RequestTransition) => void;
}

const defaultReadyTimeoutMs = 40_000;
/** Figures of what is held: zero when nothing runs. */
export const heldGauges = [
  "baton_frontend_requests_in_flight",
  "baton_worker_sequences",
  "baton_worker_blocks_used",
  "baton_worker_handoffs_held",
  "baton_kv_transfer_bytes_held",
  "baton_bus_replies_awaited",
  "baton_router_bookings",
  "baton_router_queued",
] as const;

/** One worker of a model. */
export function workerSpec(
  workerType: WorkerType,
  id: string,
  model: string,
  flags: Flags = {},
): ActorSpec {
  return {
    role: "worker",
    id,
    flags: { engine: "mock", "model-name": model, "worker-type": workerType, ...flags },
  };
}

/** Starts NATS and every actor as a process of its own, and waits until all are ready and each model can be served. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const nats = options.nats ?? (await startNatsServer(options.natsOptions));
  const namespace = options.namespace ?? "default";
  const watch = await BusWatch.join(nats.url, namespace, undefined, options.onTransition);
  const ownsNats = options.nats === undefined;
  const { env, readyTimeoutMs } = options;
  const cluster = new Cluster({ nats, namespace, watch, ownsNats, env, readyTimeoutMs });
  try {
    const specs = plan(options);
    await Promise.all(specs.map((spec) => cluster.start(spec)));
    const models = new Set(specs.flatMap(({ flags }) => flags?.["model-name"] ?? []));
    for (const model of models) await cluster.untilServing(String(model));
    return cluster;
  } catch (error) {
    const printed = cluster.printed();
    await cluster.stop();
    throw new Error(`the cluster did not come up:\n${printed}`, { cause: error });
  }
}

/** The actors that every cluster has, but for workers. */
export function commonActors(frontendFlags: Flags = {}): readonly ActorSpec[] {
  return [
    { role: "discovery", id: "discovery" },
    { role: "kv-event-aggregator", id: "kv-event-aggregator" },
    { role: "prefill-router", id: "prefill-router" },
    { role: "decode-router", id: "decode-router" },
    { role: "frontend", id: "frontend", flags: frontendFlags },
  ];
}

function plan(options: ClusterOptions): readonly ActorSpec[] {
  const counts = {
    prefill: options.prefill ?? 1,
    decode: options.decode ?? 1,
    aggregated: options.aggregated ?? 0,
  };
  const flags = { engine: options.engine ?? "mock", ...options.flags };
  const workers = (["prefill", "decode", "aggregated"] as const).flatMap((type) =>
    Array.from({ length: counts[type] }, (_, index) =>
      workerSpec(type, `${type}-${index}`, options.model ?? "mock", flags),
    ),
  );
  return [...commonActors(options.frontendFlags), ...workers, ...(options.also ?? [])];
}

/** A running cluster. */
export class Cluster {
  readonly nats: NatsServer;
  readonly namespace: string;
  readonly watch: BusWatch;
  readonly #ownsNats: boolean;
  readonly #env: Readonly<Record<string, string>>;
  readonly #readyTimeoutMs: number;
  readonly #running = new Map<string, BatonProcess>();
  readonly #paused = new Set<string>();
  readonly #ended: BatonProcess[] = [];

  constructor(parts: {
    readonly nats: NatsServer;
    readonly namespace: string;
    readonly watch: BusWatch;
    readonly ownsNats: boolean;
    readonly env?: Readonly<Record<string, string>> | undefined;
    readonly readyTimeoutMs?: number | undefined;
  }) {
    this.nats = parts.nats;
    this.namespace = parts.namespace;
    this.watch = parts.watch;
    this.#ownsNats = parts.ownsNats;
    this.#env = parts.env ?? {};
    this.#readyTimeoutMs = parts.readyTimeoutMs ?? defaultReadyTimeoutMs;
  }

  /** The API of the Frontend called `frontend`. */
  get api(): string {
    return this.apiOf("frontend");
  }

  apiOf(id: string): string {
    const api = this.watch.heartbeat(id)?.api;
    if (!api) throw new Error(`${id} has said nothing of an API`);
    return api;
  }

  /** Admin ports of the actors that run, by id. */
  get admins(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#running.keys()].flatMap((id) => {
        const admin = this.watch.heartbeat(id)?.admin;
        return admin ? [[id, admin] as const] : [];
      }),
    );
  }

  process(id: string): BatonProcess {
    const found = this.#running.get(id);
    if (found === undefined) throw new Error(`no ${id} runs`);
    return found;
  }

  /** Whether an actor was started and not ended since. */
  runs(id: string): boolean {
    return this.#running.has(id);
  }

  /** Starts an actor and waits until its life signs say that it is ready. */
  async start(spec: ActorSpec): Promise<void> {
    const process = this.spawn(spec);
    await waitUntil(
      `${spec.id} to be ready`,
      () => {
        const heartbeat = this.watch.heartbeat(spec.id);
        if (process.hasEnded) throw new Error(process.err.join("\n"));
        return heartbeat?.pid === process.pid && heartbeat.state === "ready";
      },
      { timeoutMs: this.#readyTimeoutMs },
    );
  }

  /** Starts an actor. */
  spawn({ role, id, flags = {} }: ActorSpec): BatonProcess {
    const args = [
      role,
      ...asArguments({
        id,
        nats: this.nats.url,
        namespace: this.namespace,
        "log-level": "warn",
        "exit-with-parent": true,
        ...(role === "frontend" && { port: 0 }),
        ...flags,
      }),
    ];
    const process = new BatonProcess(args, this.#env);
    this.#running.set(id, process);
    return process;
  }

  /** Sends a signal. Returns `performance.now()`. */
  kill(id: string, signal: NodeJS.Signals): number {
    const process = this.process(id);
    if (signal === "SIGSTOP") this.#paused.add(id);
    if (signal === "SIGCONT") this.#paused.delete(id);
    if (signal === "SIGKILL" || signal === "SIGTERM") {
      this.#running.delete(id);
      this.#ended.push(process);
    }
    process.kill(signal);
    return performance.now();
  }

  /** Ends an actor by a signal and waits until its process is gone. */
  async end(id: string, signal: NodeJS.Signals = "SIGTERM"): Promise<ProcessEnd> {
    const process = this.process(id);
    this.kill(id, signal);
    return await within(30_000, `the end of ${id}`, process.ended);
  }

  /** What `baton status --json` prints. */
  status(): Promise<Status> {
    return readStatus("--nats", this.nats.url, "--namespace", this.namespace);
  }

  async modelStatus(model: string): Promise<ModelStatus | undefined> {
    return (await this.status()).models.find((entry) => entry.model === model);
  }

  /** Waits until status shows a model as ready and the Frontend lists it. */
  async untilServing(model: string, frontend = "frontend"): Promise<void> {
    await waitUntil(
      `${model} to be served`,
      async () => {
        const answer = await fetch(`${this.apiOf(frontend)}/v1/models`);
        const { data } = (await answer.json()) as { data: readonly { readonly id: string }[] };
        if (!data.some(({ id }) => id === model)) return false;
        return (await this.modelStatus(model))?.ready === true;
      },
      { timeoutMs: this.#readyTimeoutMs },
    );
  }

  /** The sum of a figure over all actors that run; with `id` in the labels, one actor's. */
  async metrics(name: string, labels: Labels = {}): Promise<number> {
    const pages = await this.#pages(labels.id);
    return pages.reduce((sum, page) => sum + sumSamples(page, name, labels), 0);
  }

  /** What is held, by figure: every one that is not zero. Throws if a figure is missing altogether. */
  async held(): Promise<Readonly<Record<string, number>>> {
    const page = (await this.#pages()).join("\n");
    return Object.fromEntries(
      heldGauges.flatMap((name) => {
        const values = samples(page, name);
        if (values.length === 0) throw new Error(`nobody shows ${name}`);
        const sum = values.reduce((total, value) => total + value, 0);
        return sum === 0 ? [] : [[name, sum]];
      }),
    );
  }

  /** Waits until nothing is held anywhere. Resolves with `performance.now()` at which that was seen. */
  async untilIdle(timeoutMs = 5_000): Promise<number> {
    let held = {};
    try {
      return await waitUntil(
        "nothing to be held",
        async () => {
          held = await this.held();
          return Object.keys(held).length === 0 && performance.now();
        },
        { timeoutMs },
      );
    } catch (cause) {
      throw new Error(`still held: ${JSON.stringify(held)}`, { cause });
    }
  }

  /** What the actors have printed, for a failure's message. */
  printed(): string {
    return [...this.#ended, ...this.#running.values()]
      .filter(({ err }) => err.length > 0)
      .map(({ args, err }) => [`${args[0]} ${args[2]}:`, ...err.slice(-8)].join("\n  "))
      .join("\n");
  }

  /** Ends every process that was started, at once. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.values(), ...this.#ended].map((process) => process.end()));
    await this.watch.close();
    if (this.#ownsNats) await this.nats.stop();
  }

  async #pages(only?: string): Promise<readonly string[]> {
    const admins = [...this.admins].filter(
      ([id]) => !this.#paused.has(id) && (only === undefined || id === only),
    );
    return await Promise.all(
      admins.map(async ([, admin]) => {
        const answer = await fetch(`${admin}/metrics`, { signal: AbortSignal.timeout(5_000) });
        return await answer.text();
      }),
    );
  }
}

/** Flags as a command line has them. */
export function asArguments(flags: Flags): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === false) return [];
    if (value === true) return [`--${name}`];
    return [value].flat().flatMap((one) => [`--${name}`, String(one)]);
  });
}
