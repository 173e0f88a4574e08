/** Hot path: `submit` and the states once per request. Budget 150 µs with its machine, beside preparing. Bench: bench/relay/relay.bench.ts */
import type { WorkerView } from "@baton/cluster-view";
import {
  type ActorId,
  type LoadReport,
  type RequestState,
  type RouterRole,
  ServingError,
  type TransitionDetails,
} from "@baton/protocol";
import type { BusState } from "@baton/runtime";
import { explainRoute, unexplained } from "../explain/explain-route.ts";
import type { RouteExplanation } from "../explain/route-explanation.ts";
import { RequestOutput } from "../output/request-output.ts";
import { DeadlineSweep } from "../request/deadlines.ts";
import type { RequestEvent } from "../request/machine.ts";
import type { RequestHandle, RequestSink, ServingMode } from "../request/request-sink.ts";
import type { ServingRequest } from "../request/serving-request.ts";
import { askAfterRouter, askRouter } from "./ask-router.ts";
import { idlePins, pinError, workerTypeOf } from "./check-pins.ts";
import { factHandlers, onUndeliverable } from "./handlers.ts";
import { giveRoutersTime, onBusBack, onLoadReport, onRouterLost, onWorkerLost } from "./losses.ts";
import { modelNotFound, type ServedModel } from "./model-directory.ts";
import type { RelayState } from "./relay-state.ts";
import { RelayedRequest, type RelayHooks } from "./relayed-request.ts";
import type { RequestPort } from "./request-port.ts";
import { whyNotRouted, whyNotServed } from "./serving-check.ts";

const ignoredHandle: RequestHandle = { cancel: () => undefined };

/** Runs every request from its arrival to its one end. */
export class Relay implements RequestPort {
  readonly #state: RelayState;
  readonly #hooks: RelayHooks;
  readonly #sweep: DeadlineSweep<RelayedRequest>;
  readonly #idle: (() => void)[] = [];
  /** Fields without effect that were logged. */
  readonly #toldIgnored = new Set<string>();
  #explaining = 0;
  #isDraining = false;
  /** When the bus went, while it is gone. */
  #busLostAtMs: number | null = null;

  constructor(state: RelayState) {
    this.#state = state;
    this.#hooks = {
      nowMs: () => state.clock.nowMs(),
      deadlines: state.options.deadlines,
      extendLeaseMs: state.options.extendLeaseMs,
      onState: (request, entered, event) => this.#onState(request, entered, event),
    };
    this.#sweep = new DeadlineSweep(state.clock, state.table.live, {
      deadlinePassed: (request) => request.send({ type: "deadline.passed" }),
      noticeMissed: (request) => this.#noticeMissed(request),
      askDue: (request) => askAfterRouter(state, request),
      leaseDue: (request) => this.#extendLease(request),
      stoodStill: () => giveRoutersTime(this.#state),
      swept: (nowMs) => this.#swept(nowMs),
    });
  }

  start(): void {
    this.#sweep.start(this.#state.options.sweepMs);
  }

  submit(request: ServingRequest, sink: RequestSink): RequestHandle {
    const model = this.#state.directory.find(request.model);
    const refusal = this.#refusal(model, request.model);
    if (model === undefined || refusal !== null) {
      const error = refusal ?? new ServingError("internal");
      this.#state.metrics.requests.add(1, {
        outcome: "failed",
        stage: "received",
        code: error.code,
      });
      sink.ended({ kind: "failed", summary: null, stage: "received", error });
      return ignoredHandle;
    }
    const { table } = this.#state;
    const live = new RelayedRequest(table.newStream(), model.name, request, sink, this.#hooks);
    table.add(live);
    live.start();
    const unready = whyNotServed(model);
    if (unready === null) live.send({ type: "prepare" });
    else live.send({ type: "failed", error: unready });
    return {
      cancel: (because) =>
        live.send(because ? { type: "failed", error: because } : { type: "cancelled" }),
    };
  }

  async explain(request: ServingRequest): Promise<RouteExplanation> {
    const model = this.#state.directory.find(request.model);
    const refusal = this.#refusal(model, request.model);
    this.#explaining += 1;
    try {
      const explanation =
        refusal === null
          ? await explainRoute(this.#state, request)
          : unexplained(request, refusal, "received");
      const code = explanation.failure?.error.code ?? "";
      this.#state.metrics.routeQueries.add(1, { code });
      return explanation;
    } finally {
      this.#explaining -= 1;
      this.#settle();
    }
  }

  /** Refuses what is new, and resolves when nothing is left. The caller bounds the time. */
  drain(): Promise<void> {
    this.#isDraining = true;
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#settle();
    });
  }

  /** Ends whatever is left. */
  stop(): void {
    this.#isDraining = true;
    this.#failAll(new ServingError("draining"));
    this.#sweep.stop();
    this.#state.transitions.flush();
  }

  /** A message of one kind has come. What cannot be decoded is counted, logged, and stops nothing. */
  hear(fact: keyof typeof factHandlers, bytes: Uint8Array): void {
    try {
      factHandlers[fact](this.#state, bytes);
    } catch (error) {
      const failure = ServingError.from(error);
      if (failure.code !== "malformed_message") throw failure;
      this.#state.metrics.undecodable.add(1, { fact });
      this.#state.log.warn({ err: failure, fact }, "message not decoded");
    }
  }

  undeliverable(key: string): void {
    onUndeliverable(this.#state, key);
  }

  workerLost(worker: WorkerView, why: string): void {
    onWorkerLost(this.#state, worker, why);
  }

  routerLost(routerId: ActorId, role: RouterRole): void {
    onRouterLost(this.#state, routerId, role);
  }

  loadReported(report: LoadReport): void {
    onLoadReport(this.#state, report);
  }

  busChanged(busState: BusState): void {
    if (busState === "disconnected") this.#busLostAtMs ??= this.#state.clock.nowMs();
    if (busState !== "connected" || this.#busLostAtMs === null) return;
    this.#busLostAtMs = null;
    this.#state.busBackAtMs = this.#state.clock.nowMs();
    onBusBack(this.#state);
  }

  #refusal(model: ServedModel | undefined, name: string): ServingError | null {
    const { bus, directory, options, table } = this.#state;
    if (this.#isDraining) return new ServingError("draining");
    if (bus.state !== "connected") return new ServingError("bus_unavailable");
    if (model === undefined) return modelNotFound(directory, name);
    if (table.live.size + this.#explaining < options.maxInFlight) return null;
    return new ServingError("overloaded", { problem: "too many requests at once" });
  }

  #onState(request: RelayedRequest, state: RequestState, event: RequestEvent | null): void {
    this.#state.transitions.add(request.model, request.transition(detailsOf(request, event)));
    switch (state) {
      case "preparing":
        void this.#prepare(request);
        return;
      case "prefill.queued":
        this.#route(request, "prefill");
        return;
      case "decode.queued":
      case "decode.routing":
        this.#route(request, "decode");
        return;
      case "completed":
        this.#completed(request);
        return;
      case "failed":
        this.#failed(request, errorOf(request, event));
        return;
      case "cancelled":
        this.#cancelled(request);
        return;
      default:
        // The other states begin and end with messages.
        return;
    }
  }

  async #prepare(request: RelayedRequest): Promise<void> {
    try {
      const model = this.#servedModel(request);
      const card = model.card;
      if (card === null) throw new ServingError("not_ready", { why: "no_workers" });
      const prepared = await this.#state.prepare(request.request, card);
      if (request.isEnded) return;
      const { group } = request.request;
      if (group !== undefined) {
        await group.prepared();
        if (request.isEnded) return;
      }
      request.prepared = prepared;
      const { output, returns, stop } = request.request;
      request.output = new RequestOutput(prepared.text, output.n, {
        stop,
        stopTokenIds: output.stopTokenIds ?? [],
        logprobs: output.logprobs !== undefined,
        tokens: returns?.tokens === true,
      });
      const mode = this.#servedModel(request).mode;
      request.mode = mode;
      const isRelay = mode === "disaggregated";
      const unrouted = whyNotRouted(this.#state.routers, request.model, isRelay);
      if (unrouted !== null) throw unrouted;
      if (mode !== null) this.#checkRouting(request, mode);
      request.send({ type: isRelay ? "route.prefill" : "route.decode" });
    } catch (error) {
      request.send({ type: "failed", error: ServingError.from(error) });
    }
  }

  /** Throws what is wrong with a request's pins, and logs what it sets without effect, each field once. */
  #checkRouting(request: RelayedRequest, mode: ServingMode): void {
    const { routing } = request.request;
    if (routing === undefined) return;
    const error = pinError(routing, mode, this.#state.view.model(request.model)?.workers ?? []);
    if (error !== null) throw error;
    for (const field of [...routing.ignored, ...idlePins(routing, mode)]) {
      if (this.#toldIgnored.has(field)) continue;
      this.#toldIgnored.add(field);
      this.#state.log.warn({ field, mode }, "request sets a field that has no effect");
    }
  }

  #servedModel(request: RelayedRequest): ServedModel {
    const model = this.#state.directory.find(request.model);
    if (model === undefined) throw new ServingError("not_ready", { why: "no_workers" });
    const unready = whyNotServed(model);
    if (unready !== null) throw unready;
    return model;
  }

  #route(request: RelayedRequest, leg: "prefill" | "decode"): void {
    askRouter(this.#state, request, leg, this.#state.routers.named(`${leg}-router`));
  }

  #noticeMissed(request: RelayedRequest): void {
    // Without a bus nothing can be heard, and that is no router's fault.
    if (this.#state.bus.state !== "connected") return;
    const problem = "no router said anything about the request";
    // Nor is it if the bus was away since the router was asked: the ask or its answer may have got lost.
    const code = request.enteredAtMs < this.#state.busBackAtMs ? "bus_unavailable" : "router_lost";
    request.send({ type: "lost", error: new ServingError(code, { problem }) });
  }

  #extendLease(request: RelayedRequest): void {
    const { cleanup, clock, options } = this.#state;
    request.extendAtMs = clock.nowMs() + options.extendLeaseMs;
    const handoff = request.prefillDone?.handoff ?? null;
    if (handoff !== null) cleanup.extend(request, handoff);
  }

  #swept(nowMs: number): void {
    if (this.#busLostAtMs === null) return;
    if (nowMs - this.#busLostAtMs < this.#state.options.busGraceMs) return;
    this.#failAll(new ServingError("bus_unavailable"));
  }

  #failAll(error: ServingError): void {
    for (const request of this.#state.table.live.values()) request.send({ type: "failed", error });
  }

  #completed(request: RelayedRequest): void {
    const { cleanup } = this.#state;
    const worker = request.legs.decode.workerId;
    const handoff = request.prefillDone?.handoff ?? null;
    if (worker === null && handoff !== null) cleanup.release(request, handoff);
    if (worker !== null && request.output?.isCutShort) {
      cleanup.abort(request.model, worker, request.id, "stop");
    }
    this.#leave(request, "completed", "");
    request.sink.ended({ kind: "completed", summary: request.summary() });
  }

  #failed(request: RelayedRequest, error: ServingError): void {
    const { cleanup, log, pump } = this.#state;
    cleanup.endEverywhere(request, error.code);
    this.#leave(request, "failed", error.code);
    // What came before the failure is the client's.
    if (request.stage === "decode.streaming") pump.write(request);
    if (error.code === "internal") {
      log.error({ requestId: request.id, stage: request.stage, err: error }, "request broke");
    } else if (log.isLevelEnabled("debug")) {
      log.debug({ requestId: request.id, stage: request.stage, err: error }, "request failed");
    }
    const { stage } = request;
    request.sink.ended({ kind: "failed", summary: request.summary(), stage, error });
  }

  #cancelled(request: RelayedRequest): void {
    this.#state.cleanup.endEverywhere(request, "client_gone");
    this.#leave(request, "cancelled", "client_gone");
    const { stage } = request;
    request.sink.ended({ kind: "cancelled", summary: request.summary(), stage });
  }

  #leave(request: RelayedRequest, outcome: "completed" | "failed" | "cancelled", code: string) {
    const { clock, metrics, table } = this.#state;
    table.remove(request);
    if (outcome !== "completed" || request.output?.isCutShort) {
      table.rememberEnded(request, clock.nowMs());
    }
    const stage = outcome === "completed" ? "completed" : request.stage;
    metrics.requests.add(1, { outcome, stage, code });
    if (outcome === "completed") measure(this.#state, request);
    this.#settle();
  }

  #settle(): void {
    if (this.#state.table.live.size + this.#explaining > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** Nothing of this is per token: one look at each request, at its end. */
function measure({ metrics }: RelayState, request: RelayedRequest): void {
  const labels = { model: request.model, mode: request.mode ?? "" };
  const { promptTokens, outputTokens, cachedTokens, mode } = request.summary();
  metrics.firstTokenSeconds.observe(
    (request.firstOutputAtMs - request.receivedAtMs) / 1000,
    labels,
  );
  if (outputTokens > 1) {
    const spentMs = request.lastOutputAtMs - request.firstOutputAtMs;
    metrics.interTokenSeconds.observe(spentMs / (outputTokens - 1) / 1000, labels);
  }
  metrics.promptTokens.add(promptTokens, { model: request.model });
  metrics.outputTokens.add(outputTokens, { model: request.model });
  const isRelay = mode === "disaggregated";
  const role = workerTypeOf(mode ?? "decode-only", isRelay ? "prefill" : "decode");
  metrics.cachedTokens.add(cachedTokens, { kind: "reused", model: request.model, role });
}

function errorOf(request: RelayedRequest, event: RequestEvent | null): ServingError {
  if (event?.type === "failed" || event?.type === "lost") return event.error;
  return new ServingError("deadline_exceeded", {
    problem: `the request was in ${request.stage} for longer than it may be`,
  });
}

function detailsOf(request: RelayedRequest, event: RequestEvent | null): TransitionDetails {
  switch (request.state) {
    case "received": {
      const { clientRequestId } = request.request;
      return clientRequestId === null ? {} : { clientRequestId };
    }
    case "prefill.queued":
    case "decode.queued":
      return { promptTokens: request.prepared?.promptTokens ?? 0 };
    case "prefill.running":
      return workerDetails(request.legs.prefill);
    case "decode.routing":
      return { ...workerDetails(request.legs.prefill), cachedTokens: request.cachedTokens };
    case "handoff":
    case "decode.running":
    case "decode.streaming":
      return workerDetails(request.legs.decode);
    case "completed": {
      const { promptTokens, outputTokens, cachedTokens } = request.summary();
      return { promptTokens, outputTokens, cachedTokens };
    }
    case "failed":
      return { stage: request.stage, code: errorOf(request, event).code };
    case "cancelled":
      return { stage: request.stage, code: "client_gone" };
    default:
      return {};
  }
}

function workerDetails(leg: RelayedRequest["legs"]["prefill"]): TransitionDetails {
  return leg.workerId === null ? {} : { workerId: leg.workerId, generation: leg.generation };
}

/** Takes note of a piece of output, for the figures of the request. */
export function noteOutput(request: RelayedRequest, nowMs: number): void {
  if (request.firstOutputAtMs === 0) request.firstOutputAtMs = nowMs;
  request.lastOutputAtMs = nowMs;
}
