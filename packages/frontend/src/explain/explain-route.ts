import { decodeOverrides } from "@baton/kv-router";
import {
  fromWireError,
  GenerationWork,
  type Leg,
  type ModelCard,
  modelName,
  type RequestState,
  RouteDecode,
  RouteExplained,
  RoutePrefill,
  type RouterOverrides,
  type RoutingConstraints,
  type RoutingRules,
  ServingError,
} from "@baton/protocol";
import type { PreparedRequest } from "../prepare/prepare-request.ts";
import { idlePins, pinError } from "../relay/check-pins.ts";
import { clientError } from "../relay/client-error.ts";
import type { ServedModel } from "../relay/model-directory.ts";
import type { RelayState } from "../relay/relay-state.ts";
import { decodeRules } from "../relay/route-request.ts";
import { noRouterError, whyNotRouted, whyNotServed } from "../relay/serving-check.ts";
import type { ServingMode } from "../request/request-sink.ts";
import type { ServingRequest } from "../request/serving-request.ts";
import type { LegExplanation, RouteExplanation } from "./route-explanation.ts";

const nothing = new Uint8Array();
/** The settings that a request may change, by the names that clients and routers give them. */
const overrideNames: Readonly<Partial<Record<string, keyof RouterOverrides>>> = {
  overlap_score_credit: "overlapScoreCredit",
  prefill_load_scale: "prefillLoadScale",
  router_temperature: "routerTemperature",
  assume_kv_reuse: "assumeKvReuse",
  track_prefill_tokens: "trackPrefillTokens",
};

/** The explanation of a request that came no further than this. */
export function unexplained(
  { model, routing }: ServingRequest,
  error: ServingError,
  stage: RequestState,
): RouteExplanation {
  return {
    model,
    mode: null,
    tokens: new Uint32Array(),
    blockSize: 0,
    legs: [],
    ignored: routing?.ignored ?? [],
    failure: { error, stage },
  };
}

/**
 * Asks the routers of a model where they would send a request: each leg as the real request would ask, the decode leg with
 * what the chosen prefill worker's topology asks for. A leg whose answer is an error hides no other: all candidates are
 * shown, with the first error.
 */
export async function explainRoute(
  state: RelayState,
  request: ServingRequest,
): Promise<RouteExplanation> {
  let prepared: PreparedRequest;
  let model: ServedModel;
  try {
    prepared = await state.prepare(request, cardOf(served(state, request.model)));
    model = served(state, request.model);
  } catch (error) {
    return unexplained(request, ServingError.from(error), "preparing");
  }
  // `served` throws unless there is one.
  const mode = model.mode ?? "aggregated";
  const question = new RouteQuestion(state, { request, prepared, mode });
  await question.ask();
  const idle = request.routing === undefined ? [] : idlePins(request.routing, mode);
  return {
    model: request.model,
    mode,
    tokens: GenerationWork.decode(prepared.work).tokens,
    blockSize: prepared.blockSize,
    legs: question.legs,
    ignored: [...(request.routing?.ignored ?? []), ...idle, ...question.ignored()],
    failure: question.failure,
  };
}

interface Asked {
  readonly request: ServingRequest;
  readonly prepared: PreparedRequest;
  readonly mode: ServingMode;
}

/** One request's question to the routers. */
class RouteQuestion {
  readonly legs: LegExplanation[] = [];
  failure: RouteExplanation["failure"] = null;
  readonly #state: RelayState;
  readonly #asked: Asked;

  constructor(state: RelayState, asked: Asked) {
    this.#state = state;
    this.#asked = asked;
  }

  async ask(): Promise<void> {
    const { mode, request } = this.#asked;
    const { routers, view } = this.#state;
    const isRelay = mode === "disaggregated";
    const workers = view.model(request.model)?.workers ?? [];
    const { routing } = request;
    this.#note("preparing", whyNotRouted(routers, request.model, isRelay));
    this.#note("preparing", routing === undefined ? null : pinError(routing, mode, workers));
    const rules = routing?.rules ?? null;
    const prefill = isRelay ? await this.#askPrefill(rules) : null;
    await this.#askDecode(decodeRules(rules, constraintsOf(prefill)), isRelay);
  }

  /** What routers would not look at, each once, in the client's words; nothing of what only the relay has set. */
  ignored(): readonly string[] {
    const set = this.#asked.request.routing?.rules?.overrides ?? {};
    const fields = this.legs.flatMap(({ route }) =>
      route.ignored.flatMap((name) => {
        const override = overrideNames[name];
        if (override === undefined) return [name];
        return set[override] === undefined ? [] : [`baton.router.${name}`];
      }),
    );
    return [...new Set(fields)];
  }

  #askPrefill(rules: RoutingRules | null): Promise<RouteExplained | null> {
    const bytes = RoutePrefill.encode({ ...this.#common(), rules });
    return this.#askRouter("prefill", "prefill.queued", bytes);
  }

  #askDecode(rules: RoutingRules | null, isRelay: boolean): Promise<RouteExplained | null> {
    const bytes = RouteDecode.encode({
      ...this.#common(),
      rules,
      // There is no ticket: empty bytes stand for the one that there would be.
      handoff: isRelay ? nothing : null,
      overrides: isRelay ? decodeOverrides() : null,
      pool: this.#asked.mode === "aggregated" ? "aggregated" : "decode",
    });
    return this.#askRouter("decode", isRelay ? "decode.routing" : "decode.queued", bytes);
  }

  async #askRouter(
    leg: Leg,
    stage: RequestState,
    bytes: Uint8Array,
  ): Promise<RouteExplained | null> {
    const { bus, options, subjects } = this.#state;
    const subject = subjects.explainRoute(`${leg}-router`, modelName(this.#asked.request.model));
    try {
      const timeoutMs = options.routerNoticeMs;
      const route = RouteExplained.decode(await bus.request(subject, bytes, { timeoutMs }));
      this.legs.push({ leg, route });
      if (route.refusal !== null) this.#note(stage, clientError(fromWireError(route.refusal)));
      return route;
    } catch (error) {
      this.#note(stage, this.#routerError(leg, ServingError.from(error)));
      return null;
    }
  }

  #routerError(leg: Leg, error: ServingError): ServingError {
    if (error.code === "no_responders") return noRouterError(this.#state, leg);
    if (error.code !== "deadline_exceeded") return clientError(error);
    return new ServingError("router_lost", {
      problem: "no router said anything about the request",
    });
  }

  /** The first error is the one that the real request would end with. */
  #note(stage: RequestState, error: ServingError | null): void {
    if (error !== null) this.failure ??= { error, stage };
  }

  #common() {
    const { request, prepared } = this.#asked;
    const { promptTokens, blockHashes, sequenceHashes } = prepared;
    return {
      ...this.#state.table.headOf({ id: request.requestId, stream: 0 }),
      timeoutMs: this.#state.options.routerNoticeMs,
      promptTokens,
      blockHashes,
      sequenceHashes,
      work: nothing,
      traceparent: request.traceparent,
    };
  }
}

function constraintsOf(prefill: RouteExplained | null): RoutingConstraints | null {
  return prefill?.decodeConstraints ?? null;
}

function served({ directory }: RelayState, name: string): ServedModel {
  const model = directory.find(name);
  if (model === undefined) throw new ServingError("not_ready", { why: "no_workers" });
  const unready = whyNotServed(model);
  if (unready !== null) throw unready;
  return model;
}

function cardOf({ card }: ServedModel): ModelCard {
  if (card === null) throw new ServingError("not_ready", { why: "no_workers" });
  return card;
}
