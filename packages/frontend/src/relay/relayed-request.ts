/** Hot path: one a request; `entered` about eight times. Budget with its machine 45 µs. Bench: bench/request/request-run.bench.ts */
import type {
  Leg,
  ModelName,
  PrefillDone,
  RequestId,
  RequestState,
  RequestTransition,
  TokenLogprobs,
  TransitionDetails,
} from "@baton/protocol";
import { promptReport } from "../output/prompt-report.ts";
import type { RequestOutput } from "../output/request-output.ts";
import type { PreparedRequest } from "../prepare/prepare-request.ts";
import type { StateDeadlines } from "../request/deadlines.ts";
import type { RequestEvent } from "../request/machine.ts";
import { type RequestEffects, RequestRun } from "../request/request-run.ts";
import type { RequestSink, RequestSummary, ServingMode } from "../request/request-sink.ts";
import type { ServingRequest } from "../request/serving-request.ts";
import { type LegProgress, newLeg } from "./leg.ts";

/** Who acts on what a request goes through. */
export interface RelayHooks {
  nowMs(): number;
  readonly deadlines: StateDeadlines;
  readonly extendLeaseMs: number;
  /** A state begins or is passed. The record is up to date, `stage` is the state before. */
  onState(request: RelayedRequest, state: RequestState, event: RequestEvent | null): void;
}

/** States in which prefill's KV is staged and may not have been fetched. */
const stagedStates: ReadonlySet<RequestState> = new Set(["decode.routing", "handoff"]);
const finalStates: ReadonlySet<RequestState> = new Set(["completed", "failed", "cancelled"]);

/** One live request: what it wants, where it is, who works on it. */
export class RelayedRequest implements RequestEffects {
  readonly id: RequestId;
  readonly stream: number;
  readonly model: ModelName;
  readonly request: ServingRequest;
  readonly sink: RequestSink;
  readonly legs: Readonly<Record<Leg, LegProgress>> = { prefill: newLeg(), decode: newLeg() };
  mode: ServingMode | null = null;
  prepared: PreparedRequest | null = null;
  output: RequestOutput | null = null;
  prefillDone: PrefillDone | null = null;
  /** As the worker that computed the prompt said. */
  promptLogprobs: readonly (TokenLogprobs | null)[] | null = null;
  /** Whether the sink knows of the prompt. */
  hasBegun = false;
  cachedTokens = 0;
  state: RequestState = "received";
  /** The last state that is not final: where the request ended, once it has. */
  stage: RequestState = "received";
  isEnded = false;
  /** Whether tokens wait to be written. */
  isDirty = false;
  deadlineAtMs = Number.POSITIVE_INFINITY;
  noticeByMs = Number.POSITIVE_INFINITY;
  askAtMs = Number.POSITIVE_INFINITY;
  extendAtMs = Number.POSITIVE_INFINITY;
  receivedAtMs = 0;
  firstOutputAtMs = 0;
  lastOutputAtMs = 0;
  readonly #hooks: RelayHooks;
  readonly #run: RequestRun;
  readonly #states: RequestState[] = [];
  readonly #enteredAtMs: number[] = [];

  constructor(
    stream: number,
    model: ModelName,
    request: ServingRequest,
    sink: RequestSink,
    hooks: RelayHooks,
  ) {
    this.id = request.requestId;
    this.stream = stream;
    this.model = model;
    this.request = request;
    this.sink = sink;
    this.#hooks = hooks;
    this.receivedAtMs = hooks.nowMs();
    this.#run = new RequestRun(this);
  }

  start(): void {
    this.#run.start();
  }

  /** Tells the machine. Nothing is heard after the end. */
  send(event: RequestEvent): void {
    if (!this.isEnded) this.#run.send(event);
  }

  entered(state: RequestState, event: RequestEvent | null): void {
    const nowMs = this.#hooks.nowMs();
    this.state = state;
    this.#states.push(state);
    this.#enteredAtMs.push(nowMs);
    if (finalStates.has(state)) this.isEnded = true;
    else this.stage = state;
    const boundMs = this.#hooks.deadlines[state];
    this.deadlineAtMs = boundMs === undefined ? Number.POSITIVE_INFINITY : nowMs + boundMs;
    this.noticeByMs = Number.POSITIVE_INFINITY;
    this.askAtMs = Number.POSITIVE_INFINITY;
    this.extendAtMs = stagedStates.has(state)
      ? nowMs + this.#hooks.extendLeaseMs
      : Number.POSITIVE_INFINITY;
    this.#hooks.onState(this, state, event);
  }

  /** More output has come: the wait for the next begins. */
  outputCame(nowMs: number): void {
    const boundMs = this.#hooks.deadlines["decode.streaming"];
    if (boundMs !== undefined) this.deadlineAtMs = nowMs + boundMs;
  }

  /** Tells the sink of the prompt, once. Throws `engine_protocol` if something of it did not come. */
  begin(): void {
    if (this.hasBegun || this.prepared === null) return;
    const { request, prepared, promptLogprobs: logprobs } = this;
    this.sink.began?.(promptReport({ ...prepared, request, logprobs }));
    this.hasBegun = true;
    this.promptLogprobs = null;
  }

  /** When the state began. */
  get enteredAtMs(): number {
    return this.#enteredAtMs.at(-1) ?? 0;
  }

  /** The newest transition, as others may read it. */
  transition(details: TransitionDetails): RequestTransition {
    return [this.id, this.state, this.enteredAtMs, details];
  }

  /** The leg that is under way in this state; null before the first and after the end. */
  get activeLeg(): Leg | null {
    if (this.isEnded || this.state === "received" || this.state === "preparing") return null;
    return this.state.startsWith("prefill.") ? "prefill" : "decode";
  }

  summary(): RequestSummary {
    const timingMs: Partial<Record<RequestState, number>> = {};
    for (let at = 0; at + 1 < this.#states.length; at += 1) {
      const state = this.#states[at] ?? "received";
      timingMs[state] = (this.#enteredAtMs[at + 1] ?? 0) - (this.#enteredAtMs[at] ?? 0);
    }
    const { prefill, decode } = this.legs;
    return {
      mode: this.mode,
      prefillWorker: prefill.workerId,
      decodeWorker: decode.workerId,
      prefillDpRank: prefill.dpRank,
      decodeDpRank: decode.dpRank,
      receivedAtMs: this.receivedAtMs,
      kvHitRate: this.#kvHitRate(),
      promptTokens: this.prepared?.promptTokens ?? 0,
      cachedTokens: this.cachedTokens,
      outputTokens: this.output?.returnedTokens ?? 0,
      timingMs,
    };
  }

  #kvHitRate(): number | null {
    const leg = this.mode === "disaggregated" ? this.legs.prefill : this.legs.decode;
    if (leg.overlapBlocks === null || this.prepared === null) return null;
    const blocks = Math.ceil(this.prepared.promptTokens / this.prepared.blockSize);
    return Math.min(1, leg.overlapBlocks / blocks);
  }
}
