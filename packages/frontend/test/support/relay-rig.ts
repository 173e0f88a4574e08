import {
  Abort,
  type ActorId,
  actorId,
  CancelRoute,
  Dispatched,
  Extend,
  type FrameEntry,
  GenerationWork,
  GetFrames,
  handoffId,
  KvHandoff,
  type Leg,
  LegFailed,
  MissingFrames,
  modelName,
  namespaceName,
  PrefillDone,
  Queued,
  Release,
  type RequestHead,
  RequestTransitions,
  RouteDecode,
  RoutePrefill,
  requestId,
  type ServingError,
  Subjects,
  TokenFrame,
  workerId,
} from "@baton/protocol";
import {
  type ActorContext,
  type Bus,
  MemoryNetwork,
  noMetrics,
  SeededRandom,
  silentLogger,
} from "@baton/runtime";
import { pino } from "pino";
import { createFrontendMetrics } from "../../src/metrics.ts";
import type { PreparedRequest } from "../../src/prepare/prepare-request.ts";
import { createRelay } from "../../src/relay/create-relay.ts";
import { factHandlers } from "../../src/relay/handlers.ts";
import { ModelDirectory } from "../../src/relay/model-directory.ts";
import type { Relay } from "../../src/relay/relay.ts";
import { RequestTable } from "../../src/relay/request-table.ts";
import type { RequestHandle } from "../../src/request/request-sink.ts";
import type { ServingRequest } from "../../src/request/serving-request.ts";
import { fakeTextModel, tokensOf } from "./fake-text-model.ts";
import { FakeView, type WorkerSpec } from "./fake-view.ts";
import { RecordingSink } from "./recording-sink.ts";
import { StallingClock } from "./stalling-clock.ts";

export const model = modelName("m");
export const pair: readonly WorkerSpec[] = [
  { id: "p1", type: "prefill" },
  { id: "d1", type: "decode" },
];
const options = {
  deadlines: {
    preparing: 1_000,
    "prefill.queued": 2_000,
    "prefill.running": 3_000,
    "decode.routing": 2_000,
    handoff: 2_500,
    "decode.queued": 2_000,
    "decode.running": 3_000,
    "decode.streaming": 4_000,
  },
  maxInFlight: 100,
  routerNoticeMs: 1_500,
  busGraceMs: 10_000,
  sweepMs: 50,
  framesTimeoutMs: 500,
  extendLeaseMs: 700,
  maxHeldFrames: 16,
  batchMs: 5,
  batchMax: 100,
};

/** One request of a rig, with what it heard. */
export interface Submitted {
  readonly id: string;
  readonly sink: RecordingSink;
  readonly handle: RequestHandle;
  /** The head of its messages, once a router was asked. */
  head(): RequestHead;
}

/** A relay on the in-process bus in virtual time, beside peers that do what the test says. */
export class RelayRig {
  readonly clock = new StallingClock();
  readonly random = new SeededRandom("rig");
  readonly network = new MemoryNetwork({ clock: this.clock, random: this.random.fork("net") });
  readonly frontendId = actorId("f1");
  readonly generation = 7;
  readonly subjects = new Subjects(namespaceName("test"));
  readonly view: FakeView;
  readonly relay: Relay;
  readonly table: RequestTable;
  readonly peers: Bus;
  readonly bus: Bus;
  readonly routedPrefills: RoutePrefill[] = [];
  readonly routedDecodes: RouteDecode[] = [];
  readonly routedByName: RoutePrefill[] = [];
  /** `subject verb` of what the Frontend said about the ends of requests. */
  readonly cleanups: string[] = [];
  readonly extended: string[] = [];
  readonly goneRouters = new Set<string>();
  /** Routers that are asked by name, by role. */
  readonly namedRouters = new Map<string, ActorId>();
  /** Roles whose routers were asked whether they live. */
  readonly askedRouters: string[] = [];
  readonly transitions: string[] = [];
  /** Log lines of level warn and above. */
  readonly warnings: { readonly msg: string; readonly field?: string }[] = [];
  /** What a worker's ring holds, by sequence. */
  readonly ring = new Map<number, TokenFrame>();
  readonly framesAsked: GetFrames[] = [];
  /** Resolves preparing; the test may replace it. */
  prepare: (request: ServingRequest) => Promise<PreparedRequest>;
  readonly #sequence = new Map<string, number>();
  #count = 0;

  constructor(workers: readonly WorkerSpec[] = pair, hears: { routers?: boolean } = {}) {
    this.view = new FakeView(workers);
    this.bus = this.#connect(this.frontendId);
    this.peers = this.#connect(actorId("peers"));
    this.table = new RequestTable(this.frontendId, this.generation);
    this.prepare = () => Promise.resolve(preparedOf("prompt"));
    const directory = new ModelDirectory(this.view);
    this.view.onChange(() => directory.changed());
    this.relay = createRelay(this.#context(), options, {
      view: this.view,
      directory,
      table: this.table,
      metrics: createFrontendMetrics(noMetrics, () => this.table.live.size),
      prepare: (request) => this.prepare(request),
      routers: {
        mayHave: (role) => !this.goneRouters.has(role),
        ask: (role) => {
          this.askedRouters.push(role);
        },
        named: (role) => this.namedRouters.get(role) ?? null,
      },
    });
    this.#wire();
    this.#hearCleanups();
    if (hears.routers !== false) this.#hearRouters();
    this.relay.start();
  }

  submit(changes: Partial<ServingRequest> = {}): Submitted {
    const request = this.request(changes);
    const id = request.requestId;
    const sink = new RecordingSink();
    const handle = this.relay.submit(request, sink);
    const heads = () => [...this.routedPrefills, ...this.routedByName, ...this.routedDecodes];
    const head = () => {
      const found = heads().find((route) => route.requestId === id);
      if (found === undefined) throw new Error(`${id} was not routed`);
      return found;
    };
    return { id, sink, handle, head };
  }

  /** A request with an id of its own that nobody has submitted. */
  request(changes: Partial<ServingRequest> = {}): ServingRequest {
    this.#count += 1;
    return {
      requestId: requestId(`r${this.#count}`),
      model: "m",
      prompt: { kind: "text", text: "prompt" },
      output: { maxTokens: 8, n: 1 },
      stop: [],
      clientRequestId: null,
      traceparent: null,
      ...changes,
    };
  }

  async settle(ms = 1): Promise<void> {
    await this.clock.advanceBy(ms);
  }

  /** The Frontend's process does not run for a while, and nor does what it hears. */
  standStill(ms: number): void {
    this.clock.stalledMs += ms;
  }

  queued(one: Submitted, leg: Leg, router = "pr1"): void {
    const fact = { ...one.head(), leg, routerId: actorId(router), routerGeneration: 1 };
    this.#tell("queued", Queued.encode(fact));
  }

  dispatched(
    one: Submitted,
    leg: Leg,
    worker: string,
    generation = 1,
    choice: { readonly dpRank?: number; readonly overlapBlocks?: number } = {},
  ): void {
    this.#tell(
      "dispatched",
      Dispatched.encode({
        ...one.head(),
        leg,
        routerId: actorId("pr1"),
        workerId: workerId(worker),
        generation,
        dpRank: 0,
        overlapBlocks: 0,
        queuedMs: 0,
        ...choice,
      }),
    );
  }

  prefilled(one: Submitted, changes: Partial<PrefillDone> = {}): void {
    const worker = changes.workerId ?? workerId("p1");
    this.#tell(
      "prefilled",
      PrefillDone.encode({
        ...one.head(),
        workerId: worker,
        generation: 1,
        handoff: ticketOf(worker),
        firstTokens: [{ id: 65, logprobs: null }],
        finishReasons: [null],
        promptTokens: 6,
        cachedTokens: 4,
        promptLogprobs: null,
        decodeConstraints: null,
        ...changes,
      }),
    );
  }

  legFailed(one: Submitted, leg: Leg, actor: string, error: ServingError): void {
    const fact = { ...one.head(), leg, actorId: actorId(actor), error };
    this.#tell("failed", LegFailed.encode(fact));
  }

  /** One frame of one worker; its number follows the last one's unless it is said. */
  frame(worker: string, entries: readonly FrameEntry[], changes: Partial<TokenFrame> = {}): void {
    const frame = this.nextFrame(worker, entries, changes);
    this.#tell("tokens", TokenFrame.encode(frame));
  }

  /** A frame that was made and kept in the ring, but not sent. */
  nextFrame(
    worker: string,
    entries: readonly FrameEntry[],
    changes: Partial<TokenFrame> = {},
  ): TokenFrame {
    const sequence = changes.sequence ?? this.#sequence.get(worker) ?? 0;
    this.#sequence.set(worker, sequence + 1);
    const frame = {
      workerId: workerId(worker),
      generation: 1,
      frontendGeneration: this.generation,
      sequence,
      entries,
      ...changes,
    };
    this.ring.set(sequence, frame);
    return frame;
  }

  /** Brings a relayed request to the state in which its tokens stream. */
  async toStreaming(one: Submitted): Promise<void> {
    await this.toHandoff(one);
    this.frame("d1", [entryOf(one, "A", 0)]);
    await this.settle();
  }

  async toHandoff(one: Submitted): Promise<void> {
    await this.toDecodeRouting(one);
    this.dispatched(one, "decode", "d1");
    await this.settle();
  }

  async toDecodeRouting(one: Submitted): Promise<void> {
    await this.toPrefillRunning(one);
    this.prefilled(one);
    await this.settle();
  }

  async toPrefillRunning(one: Submitted): Promise<void> {
    await this.settle();
    this.dispatched(one, "prefill", "p1");
    await this.settle();
  }

  /** The states that were published, of one request. */
  statesOf(one: Submitted): string[] {
    return this.transitions.flatMap((line) => {
      const [id, state] = line.split(" ");
      return id === one.id && state !== undefined ? [state] : [];
    });
  }

  #context(): ActorContext {
    return {
      id: this.frontendId,
      role: "frontend",
      namespace: namespaceName("test"),
      generation: this.generation,
      subjects: this.subjects,
      bus: this.bus,
      clock: this.clock,
      random: this.random,
      log: pino({ level: "warn" }, { write: (line) => this.warnings.push(JSON.parse(line)) }),
      metrics: noMetrics,
      identity: { host: "here", pid: 1, admin: null },
      heartbeatMs: 250,
      setSynced: () => undefined,
      fail: (error) => {
        throw error;
      },
    };
  }

  #connect(id: ActorId): Bus {
    return this.network.connect({
      id,
      subjects: this.subjects,
      clock: this.clock,
      log: silentLogger(),
      metrics: noMetrics,
    });
  }

  #wire(): void {
    for (const fact of Object.keys(factHandlers) as (keyof typeof factHandlers)[]) {
      const subject = this.subjects.toFrontendAll(fact, this.frontendId);
      this.bus.subscribe(subject, ({ payload }) => this.relay.hear(fact, payload));
    }
    this.bus.onUndeliverable((key) => this.relay.undeliverable(key));
    this.bus.onState((state) => this.relay.busChanged(state));
    this.view.onWorkerLost((worker, why) => this.relay.workerLost(worker, why));
    this.view.onLoad((report) => this.relay.loadReported(report));
  }

  #hearRouters(): void {
    this.peers.subscribe(this.subjects.route("prefill-router", model), ({ payload }) =>
      this.routedPrefills.push(RoutePrefill.decode(payload)),
    );
    this.peers.subscribe(this.subjects.route("decode-router", model), ({ payload }) =>
      this.routedDecodes.push(RouteDecode.decode(payload)),
    );
  }

  /** From here on one router takes what is for it by name. */
  hearNamedRouter(id: string): void {
    this.namedRouters.set("prefill-router", actorId(id));
    const subject = this.subjects.routeTo("prefill-router", model, actorId(id));
    this.peers.subscribe(subject, ({ payload }) =>
      this.routedByName.push(RoutePrefill.decode(payload)),
    );
  }

  #hearCleanups(): void {
    const { peers, subjects } = this;
    for (const id of this.view.workers.keys()) {
      peers.subscribe(subjects.worker("abort", model, workerId(id)), ({ payload }) =>
        this.cleanups.push(`abort ${id} ${Abort.decode(payload).requestIds.join()}`),
      );
      peers.subscribe(subjects.worker("release", model, workerId(id)), ({ payload }) =>
        this.cleanups.push(`release ${id} ${Release.decode(payload).requestId}`),
      );
      peers.subscribe(subjects.worker("extend", model, workerId(id)), ({ payload }) =>
        this.extended.push(`${id} ${Extend.decode(payload).requestId}`),
      );
      peers.subscribe(subjects.worker("get-frames", model, workerId(id)), (message) => {
        const ask = GetFrames.decode(message.payload);
        this.framesAsked.push(ask);
        const frames = [...this.ring.values()].filter(
          ({ sequence }) => sequence >= ask.from && sequence <= ask.to,
        );
        const bytes = frames.map((frame) => TokenFrame.encode(frame));
        message.respond(MissingFrames.encode({ frames: bytes }));
      });
    }
    peers.subscribe(subjects.abortAnywhere(model), ({ payload }) =>
      this.cleanups.push(`abort anywhere ${Abort.decode(payload).requestIds.join()}`),
    );
    for (const role of ["prefill-router", "decode-router"] as const) {
      peers.subscribe(subjects.routeCancel(role, model), ({ payload }) =>
        this.cleanups.push(`cancel ${role} ${CancelRoute.decode(payload).requestIds.join()}`),
      );
    }
    peers.subscribe(subjects.requestTransitions(model), ({ payload }) => {
      for (const [id, state, , details] of RequestTransitions.decode(payload).transitions) {
        this.transitions.push(`${id} ${state} ${JSON.stringify(details)}`);
      }
    });
  }

  #tell(fact: keyof typeof factHandlers, payload: Uint8Array): void {
    this.peers.publish(this.subjects.toFrontend(fact, model, this.frontendId), payload);
  }
}

/** New tokens of one choice: those of a text. */
export function entryOf(
  one: Submitted,
  text: string,
  offset: number,
  end: FrameEntry["end"] = null,
): FrameEntry {
  const tokens = tokensOf(text);
  return { stream: one.head().stream, choice: 0, offset, tokens, logprobs: null, end };
}

/** The end of a choice. */
export function endOf(reason: "stop" | "length", cachedTokens = 0): FrameEntry["end"] {
  return { reason, error: null, cachedTokens };
}

function ticketOf(worker: string): Uint8Array {
  return KvHandoff.encode({
    handoffId: handoffId("h1"),
    prefillWorkerId: workerId(worker),
    prefillGeneration: 1,
    dpRank: 0,
    transport: "blocks",
    address: "127.0.0.1:1",
    secret: Uint8Array.of(1),
    bytes: 1,
    blocks: 1,
    descriptor: null,
    expiresAtMs: 0,
    firstTokens: [],
    promptTokens: 6,
    cachedTokens: 4,
    engineParams: null,
  });
}

/** A prepared prompt with made-up hashes. */
export function preparedOf(text: string): PreparedRequest {
  return {
    text: fakeTextModel,
    blockSize: 4,
    promptTokens: tokensOf(text).length,
    tokens: Uint32Array.from(tokensOf(text)),
    blockHashes: new Uint8Array(8),
    sequenceHashes: new Uint8Array(8),
    work: GenerationWork.encode({
      tokens: Uint32Array.from(tokensOf(text)),
      params: { maxTokens: 8 },
      lora: null,
      salt: null,
    }),
  };
}
