/** Hot path: once per request. With no transfer domain required it costs a field read; else one look at each place. */
import type { WorkerView } from "@baton/cluster-view";
import {
  checkDecodeReach,
  createBookings,
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
  type WorkerType,
} from "@baton/protocol";
import {
  CandidateTable,
  type Chosen,
  commandFields,
  type DeskPolicy,
  type WorkerCommand,
} from "@baton/routing";
import { TransferPlaces } from "./transfer-places.ts";

/** Prefill's side of routing: the pool of prefill workers, and what their topology asks of the decode worker. */
export class PrefillPolicy implements DeskPolicy<RoutePrefill> {
  readonly role = "prefill-router";
  readonly leg = "prefill";
  readonly workerTypes: ReadonlySet<WorkerType> = new Set(["prefill"]);
  /** Nothing is booked here: a busy decode worker is free again when the prefill is done. */
  readonly #decode = new CandidateTable(createBookings({ limit: 0, graceMs: 0 }));
  #places = new TransferPlaces([]);

  workerType(): WorkerType {
    return "prefill";
  }

  follow(workers: readonly WorkerView[]): void {
    this.#decode.rebuild(workers);
    this.#places = new TransferPlaces(
      workers.filter(({ workerType, state }) => workerType === "prefill" && state !== "lost"),
    );
  }

  /** Leaves out workers whose KV can get to no decode worker; keeps all if that leaves none, so that the refusal says why. */
  narrow(
    request: RoutePrefill,
    candidates: readonly WorkerCandidate[],
  ): readonly WorkerCandidate[] {
    if (!this.#places.areRestricted) return candidates;
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
  rules({ rules }: RoutePrefill): Pick<SelectionRequest, "allowedWorkers" | "pin"> {
    if (rules === null) return {};
    const { constraints: _ofDecode, ...ofPrefill } = selectionRules(rules, "prefill");
    return ofPrefill;
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
      const { text: problem, domains, missingTaints } = reach;
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
      this.#decode.of("decode"),
    );
  }
}
