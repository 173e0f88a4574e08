import type { ClusterView, WorkerView } from "@baton/cluster-view";
import {
  checkDecodeReach,
  createBookings,
  deriveTransferConstraints,
  mergeConstraints,
  type SelectionRequest,
  selectionRules,
} from "@baton/kv-router";
import {
  type ModelName,
  Prefill,
  type RoutePrefill,
  type RoutingConstraints,
  ServingError,
} from "@baton/protocol";
import { type Chosen, candidatesOf, type DeskPolicy, type WorkerCommand } from "@baton/routing";

/** Nothing is booked where only the rules count. */
const noBookings = createBookings({ limit: 0, graceMs: 0 });
const noRefusals: ReadonlyMap<never, number> = new Map();

/** Prefill's side of routing: the pool of prefill workers, and what their topology asks of the decode worker. */
export function prefillPolicy(model: ModelName, view: ClusterView): DeskPolicy<RoutePrefill> {
  return new PrefillPolicy(model, view);
}

class PrefillPolicy implements DeskPolicy<RoutePrefill> {
  readonly role = "prefill-router";
  readonly leg = "prefill";
  readonly #model: ModelName;
  readonly #view: ClusterView;

  constructor(model: ModelName, view: ClusterView) {
    this.#model = model;
    this.#view = view;
  }

  /** Prefill workers whose KV can get to some decode worker; all of them if none can, so that the refusal says why. */
  pool(request: RoutePrefill, workers: readonly WorkerView[]): readonly WorkerView[] {
    const prefill = workers.filter((worker) => worker.workerType === "prefill");
    if (!prefill.some(requiresDomain)) return prefill;
    const reaching = prefill.filter(
      (worker) => this.#reach(request, this.#constraints(worker)).kind === "reachable",
    );
    return reaching.length > 0 ? reaching : prefill;
  }

  rules(request: RoutePrefill): Pick<SelectionRequest, "constraints" | "allowedWorkers" | "pin"> {
    // The request's own constraints speak of where the answer is generated: the decode leg.
    const { constraints: _decode, ...rules } = selectionRules(request.rules, "prefill");
    return rules;
  }

  isStaged(): boolean {
    return false;
  }

  command(request: RoutePrefill, chosen: Chosen, worker: WorkerView): WorkerCommand {
    const decodeConstraints = this.#constraints(worker);
    const reach = this.#reach(request, decodeConstraints);
    if (reach.kind === "unreachable") {
      throw new ServingError("no_worker_available", {
        problem: reach.text,
        domains: reach.domains,
        missingTaints: reach.missingTaints,
      });
    }
    const payload = Prefill.encode({
      requestId: request.requestId,
      frontendId: request.frontendId,
      frontendGeneration: request.frontendGeneration,
      stream: request.stream,
      generation: chosen.generation,
      dpRank: chosen.dpRank,
      blockHashes: request.blockHashes,
      sequenceHashes: request.sequenceHashes,
      work: request.work,
      traceparent: request.traceparent,
      decodeConstraints,
    });
    return { verb: "prefill", payload };
  }

  #constraints(worker: WorkerView): RoutingConstraints | null {
    const group = this.#workers("prefill").map(({ registration }) => registration);
    const derived = deriveTransferConstraints(worker.registration, group);
    if (derived.kind === "error") throw new ServingError("internal", { problem: derived.text });
    return derived.kind === "constrained" ? derived.constraints : null;
  }

  /** Load does not count here: a busy decode worker is free again when the prefill is done. */
  #reach(request: RoutePrefill, derived: RoutingConstraints | null) {
    const rules = selectionRules(request.rules, "decode");
    const constraints = mergeConstraints(rules.constraints, derived ?? undefined);
    return checkDecodeReach(
      { nowMs: 0, promptTokens: request.promptTokens, ...rules, constraints },
      candidatesOf(this.#workers("decode"), noBookings, noRefusals),
    );
  }

  #workers(type: "prefill" | "decode"): readonly WorkerView[] {
    const workers = this.#view.model(this.#model)?.workers ?? [];
    return workers.filter((worker) => worker.workerType === type);
  }
}

function requiresDomain(worker: WorkerView): boolean {
  return worker.registration.kvTransfer?.enforcement === "required";
}
