import { createBlockHasherFromModule } from "@baton/kv-router";
import { MemoryKvExchange, MemoryKvMover } from "@baton/kv-transfer";
import {
  Abort,
  ActorHeartbeat,
  type ActorId,
  actorId,
  Decode,
  Extend,
  Generate,
  type GenerationParams,
  GenerationWork,
  KvEvents,
  KvHandoff,
  LegFailed,
  LoadReport,
  modelName,
  Prefill,
  PrefillDone,
  RegistrationReply,
  Release,
  requestId,
  TokenFrame,
  WorkerDeregistration,
  WorkerRegistration,
} from "@baton/protocol";
import { type Bus, type BusMessage, type RunningActor, readOptions } from "@baton/runtime";
import { actorHeartbeat, type MemoryCluster, memoryCluster, promptTokens } from "@baton/testing";
import { createMockEngine } from "../../src/engines/mock/index.ts";
import {
  createWorker,
  type EngineFactory,
  type WorkerConfig,
  workerOptions,
} from "../../src/index.ts";

export const model = modelName("test-model");
const hasher = createBlockHasherFromModule();
const blockSize = 16;

/** A small, quick mock worker. */
export function workerConfig(flags: Readonly<Record<string, unknown>> = {}): WorkerConfig {
  return readOptions(workerOptions, {
    flags: {
      "model-name": model,
      blocks: 256,
      "block-size": blockSize,
      "mock-prefill-ms": 4,
      "mock-decode-ms": 2,
      "context-length": 2_000,
      ...flags,
    },
    env: {},
  });
}

/** Discovery as far as a worker sees it. */
export interface FakeDiscovery {
  readonly registrations: WorkerRegistration[];
  readonly deregistrations: WorkerDeregistration[];
  reply: RegistrationReply;
  readonly bus: Bus;
}

export function fakeDiscovery(cluster: MemoryCluster, id = "discovery-1"): FakeDiscovery {
  const bus = cluster.bus(id);
  const fake: FakeDiscovery = {
    registrations: [],
    deregistrations: [],
    reply: { accepted: true, epoch: 1, conflicts: [], why: null },
    bus,
  };
  bus.subscribe(cluster.subjects.register(), (message: BusMessage) => {
    fake.registrations.push(WorkerRegistration.decode(message.payload));
    message.respond(RegistrationReply.encode(fake.reply));
  });
  bus.subscribe(cluster.subjects.deregister(), (message: BusMessage) => {
    fake.deregistrations.push(WorkerDeregistration.decode(message.payload));
  });
  return fake;
}

/** A Frontend and router in one: sends work, keeps what comes back. */
export class FakeFrontend {
  readonly id: ActorId;
  readonly generation: number;
  readonly prefilled: PrefillDone[] = [];
  readonly failed: LegFailed[] = [];
  readonly frames: TokenFrame[] = [];
  readonly bus: Bus;
  readonly #cluster: MemoryCluster;
  #nextStream = 1;
  #beats = 0;
  isBeating = true;

  constructor(cluster: MemoryCluster, id: string, generation = 1) {
    this.#cluster = cluster;
    this.id = actorId(id);
    this.generation = generation;
    this.bus = cluster.bus(id);
    const { subjects, clock } = cluster;
    this.bus.subscribe(subjects.toFrontendAll("prefilled", this.id), ({ payload }) => {
      this.prefilled.push(PrefillDone.decode(payload));
    });
    this.bus.subscribe(subjects.toFrontendAll("failed", this.id), ({ payload }) => {
      this.failed.push(LegFailed.decode(payload));
    });
    this.bus.subscribe(subjects.toFrontendAll("tokens", this.id), ({ payload }) => {
      this.frames.push(TokenFrame.decode(payload));
    });
    clock.setRepeating(250, () => {
      if (this.isBeating) this.beat("ready");
    });
    this.beat("ready");
  }

  beat(state: ActorHeartbeat["state"]): void {
    if (this.bus.state !== "connected") return;
    const beat = actorHeartbeat(this.id, {
      role: "frontend",
      generation: this.generation,
      sequence: this.#beats++,
      state,
    });
    const subject = this.#cluster.subjects.heartbeat("frontend", null, this.id);
    this.bus.publish(subject, ActorHeartbeat.encode(beat));
  }

  prefill(worker: RunningActor, name: string, options: WorkOptions = {}): number {
    const command = this.#command(worker, name, options);
    const payload = Prefill.encode({ ...command, decodeConstraints: null });
    this.#send("prefill", worker, payload);
    return command.stream;
  }

  generate(worker: RunningActor, name: string, options: WorkOptions = {}): number {
    const command = this.#command(worker, name, options);
    this.#send("generate", worker, Generate.encode(command));
    return command.stream;
  }

  decode(
    worker: RunningActor,
    name: string,
    handoff: KvHandoff | Uint8Array,
    options: WorkOptions = {},
  ): number {
    const command = this.#command(worker, name, options);
    const bytes = handoff instanceof Uint8Array ? handoff : KvHandoff.encode(handoff);
    const payload = Decode.encode({ ...command, handoff: bytes });
    this.#send("decode", worker, payload);
    return command.stream;
  }

  abort(worker: RunningActor | null, ...names: string[]): void {
    const { subjects } = this.#cluster;
    const subject =
      worker === null ? subjects.abortAnywhere(model) : subjects.worker("abort", model, worker.id);
    const requestIds = names.map(requestId);
    this.bus.publish(subject, Abort.encode({ requestIds, reason: "client_gone" }));
  }

  extend(worker: RunningActor, ticket: KvHandoff, name: string): void {
    const subject = this.#cluster.subjects.worker("extend", model, worker.id);
    const extend = { handoffId: ticket.handoffId, requestId: requestId(name) };
    this.bus.publish(subject, Extend.encode(extend));
  }

  release(worker: RunningActor, ticket: KvHandoff, name: string): void {
    const subject = this.#cluster.subjects.worker("release", model, worker.id);
    const release = { handoffId: ticket.handoffId, requestId: requestId(name) };
    this.bus.publish(subject, Release.encode(release));
  }

  /** The ticket of a finished prefill. */
  ticketOf(name: string): KvHandoff {
    const done = this.prefilled.find((fact) => fact.requestId === name);
    if (done?.handoff == null) throw new Error(`${name} has no ticket`);
    return KvHandoff.decode(done.handoff);
  }

  /** Tokens of one choice of a stream, put together by offset. */
  tokensOf(stream: number, choice = 0): number[] {
    const tokens: number[] = [];
    for (const entry of this.entriesOf(stream, choice)) {
      for (const [i, token] of entry.tokens.entries()) tokens[entry.offset + i] = token;
    }
    return tokens;
  }

  endOf(stream: number, choice = 0) {
    return this.entriesOf(stream, choice).find((entry) => entry.end !== null)?.end ?? null;
  }

  entriesOf(stream: number, choice = 0) {
    return this.frames
      .flatMap((frame) => frame.entries)
      .filter((entry) => entry.stream === stream && entry.choice === choice);
  }

  #send(verb: "prefill" | "decode" | "generate", worker: RunningActor, payload: Uint8Array): void {
    this.bus.publish(this.#cluster.subjects.worker(verb, model, worker.id), payload);
  }

  #command(worker: RunningActor, name: string, options: WorkOptions): Generate {
    const tokens = options.tokens ?? promptTokens(options.promptLength ?? 40, 3, 1_000);
    const blockHashes = hasher.blockHashes(tokens, blockSize);
    return {
      requestId: requestId(name),
      frontendId: this.id,
      frontendGeneration: this.generation,
      stream: this.#nextStream++,
      generation: options.generation ?? worker.heartbeat().generation,
      dpRank: options.dpRank ?? 0,
      blockHashes,
      sequenceHashes: hasher.sequenceHashes(blockHashes),
      work:
        options.work ??
        GenerationWork.encode({
          tokens,
          params: { maxTokens: 5, ...options.params },
          lora: options.lora ?? null,
          salt: null,
        }),
      traceparent: null,
    };
  }
}

export interface WorkOptions {
  readonly tokens?: Uint32Array;
  readonly promptLength?: number;
  readonly params?: Partial<GenerationParams>;
  readonly lora?: string;
  readonly generation?: number;
  readonly dpRank?: number;
  readonly work?: Uint8Array;
}

/** A cluster with a fake Discovery and Frontend, where workers are started. */
export interface WorkerCluster extends MemoryCluster {
  readonly discovery: FakeDiscovery;
  readonly frontend: FakeFrontend;
  readonly exchange: MemoryKvExchange;
  readonly loads: LoadReport[];
  readonly kvEvents: KvEvents[];
  /** Starts a worker and waits until it is ready. */
  startWorker(
    flags?: Readonly<Record<string, unknown>>,
    how?: { readonly id?: string; readonly engine?: EngineFactory; readonly awaitReady?: boolean },
  ): Promise<RunningActor>;
  /** Lets virtual time pass until it holds; fails if it does not within 30 s of it. */
  until(condition: () => boolean): Promise<void>;
  /** A gauge or counter of one worker as the metrics page shows it; 0 if it is not there. */
  metric(worker: RunningActor, name: string, labels?: string): Promise<number>;
}

export function workerCluster(options: Parameters<typeof memoryCluster>[0] = {}): WorkerCluster {
  const cluster = memoryCluster(options);
  const exchange = new MemoryKvExchange();
  const loads: LoadReport[] = [];
  const kvEvents: KvEvents[] = [];
  const ear = cluster.bus("ear");
  ear.subscribe(cluster.subjects.loadsReported(model), ({ payload }) => {
    loads.push(LoadReport.decode(payload));
  });
  ear.subscribe(cluster.subjects.kvChangedAll(model), ({ payload }) => {
    kvEvents.push(KvEvents.decode(payload));
  });
  const until = async (condition: () => boolean): Promise<void> => {
    if (await cluster.clock.runUntilTrue(condition, 30_000)) return;
    throw new Error("the condition never held");
  };
  let started = 0;
  return {
    ...cluster,
    discovery: fakeDiscovery(cluster),
    frontend: new FakeFrontend(cluster, "fe-1"),
    exchange,
    loads,
    kvEvents,
    until,
    startWorker: async (flags = {}, how = {}) => {
      const definition = createWorker({
        engines: { mock: () => Promise.resolve(how.engine ?? createMockEngine) },
        createMover: (_, deps) => new MemoryKvMover({ exchange }, deps),
      });
      const worker = cluster.start(definition, workerConfig(flags), {
        id: how.id ?? `w-${++started}`,
      });
      if (how.awaitReady !== false) await until(() => worker.state === "ready");
      return worker;
    },
    metric: async (worker, name, labels = "") => {
      const text = await cluster.metrics.text();
      const line = text
        .split("\n")
        .find(
          (row) =>
            row.startsWith(`${name}{`) && row.includes(`id="${worker.id}"`) && row.includes(labels),
        );
      return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(" ") + 1));
    },
  };
}
