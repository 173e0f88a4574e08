/** Hot path: once per request. With no transfer domain required it costs a field read; else one look at each place. */
import type { WorkerView } from "@baton/cluster-view";
import {
  checkDecodeReach,
  createRoutingCore,
  createSelector,
  type DecodeReach,
  mergeConstraints,
  type SelectionRequest,
  selectionRules,
  type WorkerCandidate,
} from "@baton/kv-router";
import {
  Prefill,
  type RoutePrefill,
  type RoutingConstraints,
  ServingError,
  type WorkerId,
  type WorkerType,
} from "@baton/protocol";
import {
  type Chosen,
  commandFields,
  type DeskPolicy,
  routableWorker,
  type WorkerCommand,
} from "@baton/routing";
import { TransferPlaces } from "./transfer-places.ts";

/** The workers that compute prompts. */
export const prefillWorkers: ReadonlySet<WorkerType> = new Set(["prefill"]);

/** Prefill's side of routing: the pool of prefill workers, and what their topology asks of the decode worker. */
export class PrefillPolicy implements DeskPolicy<RoutePrefill> {
  readonly role = "prefill-router";
  readonly leg = "prefill";
  readonly workerTypes = prefillWorkers;
  /** Nothing is booked here: a busy decode worker is free again when the prefill is done. */
  readonly #decode = createRoutingCore({
    selector: createSelector("round-robin"),
    bookings: { limit: 0, graceMs: 0 },
  });
  #places = new TransferPlaces([]);

  stage(): "prefill" {
    return "prefill";
  }

  usesKvEvents(): boolean {
    return true;
  }

  workerType(): WorkerType {
    return "prefill";
  }

  follow(workers: readonly WorkerView[]): void {
    const live = workers.filter(({ state }) => state !== "lost");
    this.#decode.setWorkers(live.map(routableWorker));
    this.#places = new TransferPlaces(
      workers.filter(({ workerType, state }) => workerType === "prefill" && state !== "lost"),
    );
  }

  /** Leaves out workers whose KV can get to no decode worker; keeps all if that leaves none, so that the refusal says why. */
  narrow(
    request: RoutePrefill,
    candidates: readonly WorkerCandidate[],
  ): readonly WorkerCandidate[] {
    // A pinned worker is not to be called unknown for where it stands: `command` says what is wrong with it.
    if (!this.#places.areRestricted || request.rules?.prefillWorkerId !== undefined) {
      return candidates;
    }
    const reaches = new Map<RoutingConstraints | null, boolean>();
    const reaching = candidates.filter(({ workerId }) => {
      const place = this.#places.of(workerId);
      if (place.kind === "faulty") return false;
      const known = reaches.get(place.constraints);
      if (known !== undefined) return known;
      const doesReach = this.#reach(request, place.constraints).kind === "reachable";
      reaches.set(place.constraints, doesReach);
      return doesReach;
    });
    return reaching.length > 0 ? reaching : candidates;
  }

  /** The request's own constraints speak of where the answer is generated: the decode leg. */
  rules({ rules }: RoutePrefill): Pick<SelectionRequest, "allowedWorkers" | "pin" | "overrides"> {
    if (rules === null) return {};
    const { constraints: _ofDecode, ...ofPrefill } = selectionRules(rules, "prefill");
    const { overrides } = rules;
    return overrides === undefined ? ofPrefill : { ...ofPrefill, overrides };
  }

  nextConstraints(workerId: WorkerId): RoutingConstraints | null {
    const place = this.#places.of(workerId);
    return place.kind === "known" ? place.constraints : null;
  }

  isStaged(): boolean {
    return false;
  }

  /** Throws `no_worker_available` if no decode worker can be reached: nobody pays for a prefill that leads nowhere. */
  command(request: RoutePrefill, chosen: Chosen, worker: WorkerView): WorkerCommand {
    const place = this.#places.of(worker.id);
    if (place.kind === "faulty") {
      throw new ServingError("no_worker_available", { problem: place.text });
    }
    const reach = this.#reach(request, place.constraints);
    if (reach.kind === "unreachable") {
      const { text: problem, domains, missingTaints, pinFault } = reach;
      if (pinFault !== null) {
        const code = pinFault === "unknown_worker" ? "unknown_worker" : "invalid_request";
        throw new ServingError(code, { problem });
      }
      throw new ServingError("no_worker_available", { problem, domains, missingTaints });
    }
    const payload = Prefill.encode({
      ...commandFields(request, chosen),
      decodeConstraints: place.constraints,
    });
    return { verb: "prefill", payload };
  }

  #reach(request: RoutePrefill, derived: RoutingConstraints | null): DecodeReach {
    const rules = selectionRules(request.rules, "decode");
    const constraints = mergeConstraints(rules.constraints, derived ?? undefined);
    return checkDecodeReach(
      {
        nowMs: 0,
        promptTokens: request.promptTokens,
        blockSize: 1,
        promptBlocks: 0,
        stage: "decode",
        ...rules,
        constraints,
      },
      this.#decode.candidates("decode"),
    );
  }
}
